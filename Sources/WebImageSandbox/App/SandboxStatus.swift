internal import CWebImageSandboxShims
import Synchronization
import WebImageCore

/// Where images are decoded, and what protects the rest of the system from a decoder that a malicious file has taken over.
public struct SandboxStatus: Sendable, Hashable {
    /// A right that decode workers give up.
    package enum Protection: String, Sendable, Hashable, CaseIterable {
        /// The worker cannot start programs with more rights (`PR_SET_NO_NEW_PRIVS`).
        case noNewPrivileges
        /// Only system calls that decoding needs are allowed (seccomp): no opening of files or sockets, no new processes.
        case systemCalls
        /// The worker reaches no files (Landlock).
        case files
        /// Memory and processor time are limited, and core dumps are off (setrlimit).
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
    /// The protections that workers of all kinds have. A kernel may not support all of them.
    package let protections: Set<Protection>
    /// Why some or all images are not decoded in workers; `nil` if all are.
    public let reason: String?

    init(_ fence: DecodeAnswer.Fence, reason: String? = nil) {
        isSandboxed = true
        self.reason = reason
        protections = Set(Protection.allCases.filter { fence.rawValue & $0.bit != 0 })
    }

    /// - Parameter kinds: For each kind of worker, its protections and why none starts.
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

    /// Logs the missing protections, once: all kinds of workers have the same ones.
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
