internal import CWebImageGLib
import Glibc
import Synchronization

/// Holds responses back until a test opens it. From any thread.
public final class ServerGate: Sendable {
    /// The reading end of a pipe, whose writing end is closed when the gate is opened. That lets a server thread wait
    /// for the gate and for its client in one call.
    let descriptor: Int32
    private let writingEnd: Mutex<Int32?>
    private let waiting = Mutex(0)

    /// Makes a gate.
    /// - Parameter isOpen: Whether it lets everything through at once. Default: no.
    public init(isOpen: Bool = false) {
        var ends: [Int32] = [-1, -1]
        // In one step with close-on-exec: a child that kept the writing end would keep the gate shut.
        g_unix_open_pipe(&ends, FD_CLOEXEC, nil)
        descriptor = ends[0]
        writingEnd = Mutex(ends[1])
        if isOpen { open() }
    }

    deinit {
        open()
        Glibc.close(descriptor)
    }

    /// How many responses are held by it.
    public var waitingCount: Int { waiting.withLock { $0 } }

    /// Lets go of everything that is held, and holds nothing from now on.
    public func open() {
        if let end = writingEnd.withLock({ $0.take() }) { Glibc.close(end) }
    }

    func enter() { waiting.withLock { $0 += 1 } }
    func leave() { waiting.withLock { $0 -= 1 } }
}
