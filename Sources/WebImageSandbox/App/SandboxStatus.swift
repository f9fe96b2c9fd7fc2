internal import CWebImageSandboxShims
import Synchronization
import WebImageCore

/// Where images are decoded, and what keeps a decoder that a file has taken over from the rest of the system.
public struct SandboxStatus: Sendable, Hashable {
    /// A right that decode workers give up.
    public enum Protection: String, Sendable, Hashable, CaseIterable {
        /// No program is started with other rights (`PR_SET_NO_NEW_PRIVS`).
        case noNewPrivileges
        /// Only the system calls are let through that decoding needs (seccomp): no files are opened, no sockets, no processes.
        case systemCalls
        /// No file can be reached (Landlock).
        case files
        /// Memory and processor time are limited, and there are no core dumps (setrlimit).
        case resources

        fileprivate var bit: UInt32 {
            switch self {
            case .noNewPrivileges: UInt32(GWI_FENCE_NO_PRIVILEGES)
            case .systemCalls: UInt32(GWI_FENCE_SECCOMP)
            case .files: UInt32(GWI_FENCE_LANDLOCK)
            case .resources: UInt32(GWI_FENCE_LIMITS)
            }
        }
    }

    /// Whether images are decoded in workers.
    public let isSandboxed: Bool
    /// The protections that all kinds of workers have, of which the kernel may offer fewer than there are.
    public let protections: Set<Protection>
    /// Why some or all images are not decoded in workers; `nil` when all are.
    public let reason: String?

    init(_ fence: DecodeAnswer.Fence, reason: String? = nil) {
        isSandboxed = true
        self.reason = reason
        protections = Set(Protection.allCases.filter { fence.rawValue & $0.bit != 0 })
    }

    /// - Parameter kinds: What fences the workers of each kind, and why none starts.
    init(_ kinds: [(fence: DecodeAnswer.Fence?, obstacle: String?)]) {
        let obstacle = kinds.lazy.compactMap(\.obstacle).first
        let fences = kinds.compactMap(\.fence)
        if let first = fences.first {
            self.init(fences.reduce(first) { $0.intersection($1) }, reason: obstacle)
        } else {
            self = obstacle.map(SandboxStatus.unavailable) ?? .notStarted
        }
    }

    private init(reason: String) {
        isSandboxed = false
        protections = []
        self.reason = reason
    }

    static let notStarted = SandboxStatus(reason: "No decode worker has started yet")

    private static let logged = Mutex<SandboxStatus?>(nil)

    /// Says in the log what is missing, once: all kinds of workers have the same protections.
    package func log() {
        guard Self.logged.withLock({ exchange(&$0, with: self) }) != self else { return }
        if protections.count == Protection.allCases.count {
            WebImageLog.debug("\(self)")
        } else {
            WebImageLog.notice("\(self)")
        }
    }

    package static func unavailable(_ reason: String) -> SandboxStatus { SandboxStatus(reason: reason) }
}

extension SandboxStatus: CustomStringConvertible {
    /// One line for a log.
    public var description: String {
        if let reason, !isSandboxed {
            return self == .notStarted ? "\(reason)." : "No image can be decoded in a worker. \(reason)."
        }
        if let reason { return "Images of some formats cannot be decoded. \(reason)." }
        let missing = Protection.allCases.filter { !protections.contains($0) }.map(\.rawValue)
        guard !missing.isEmpty else { return "Images are decoded in workers without rights." }
        return
            "Images are decoded in workers with fewer protections, since this kernel offers no \(missing.joined(separator: ", "))."
    }
}
