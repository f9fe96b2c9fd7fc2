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
    /// The protections of the workers, of which the kernel may offer fewer than there are.
    public let protections: Set<Protection>
    /// Why images are not decoded in workers; `nil` when they are.
    public let reason: String?

    init(_ fence: DecodeAnswer.Fence) {
        isSandboxed = true
        reason = nil
        protections = Set(Protection.allCases.filter { fence.rawValue & $0.bit != 0 })
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
        if let reason { return self == .notStarted ? "\(reason)." : "No image can be decoded in a worker. \(reason)." }
        let missing = Protection.allCases.filter { !protections.contains($0) }.map(\.rawValue)
        guard !missing.isEmpty else { return "Images are decoded in workers without rights." }
        return
            "Images are decoded in workers with fewer protections, since this kernel offers no \(missing.joined(separator: ", "))."
    }
}
