internal import CWebImageGLib
import Glibc
import Synchronization

/// A gate that holds responses until a test opens it, on any thread.
public final class ServerGate: Sendable {
    /// The read end of a pipe, whose write end is closed when the gate opens. A server thread can thus wait for the gate
    /// and for its client with one poll(2).
    let descriptor: Int32
    private let writeEnd: Mutex<Int32?>
    private let waiting = Mutex(0)

    /// Creates a gate.
    /// - Parameter isOpen: Whether the gate is open from the start. Default: false.
    public init(isOpen: Bool = false) {
        var ends: [Int32] = [-1, -1]
        // Close-on-exec is set atomically: a child process that inherited the write end would keep the gate closed.
        g_unix_open_pipe(&ends, FD_CLOEXEC, nil)
        descriptor = ends[0]
        writeEnd = Mutex(ends[1])
        if isOpen { open() }
    }

    deinit {
        open()
        Glibc.close(descriptor)
    }

    /// The number of responses that wait at the gate.
    public var waitingCount: Int { waiting.withLock { $0 } }

    /// Opens the gate for good.
    public func open() {
        if let end = writeEnd.withLock({ $0.take() }) { Glibc.close(end) }
    }

    func enter() { waiting.withLock { $0 += 1 } }
    func leave() { waiting.withLock { $0 -= 1 } }
}
