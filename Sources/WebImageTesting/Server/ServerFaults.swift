internal import CWebImageGLib
public import FoundationEssentials
import Glibc
import Synchronization

/// The faults and delays of a response. All are off by default and can be combined.
public struct ServerFaults: Sendable {
    /// Holds the whole response until the gate opens.
    public var gate: ServerGate?
    /// Holds the body after a number of bytes until the gate opens.
    public var bodyGate: (afterBytes: Int, gate: ServerGate)?
    /// Delays the response.
    public var delay: Duration?
    /// Sends the body in pieces of a number of bytes, with a pause after each.
    public var drip: (bytes: Int, every: Duration)?
    /// Sends the body in pieces of a number of bytes. The closure returns the pause after each; `nil` ends the connection.
    package var pace: (bytes: Int, pause: @Sendable (_ byteCount: Int) -> Duration?)?
    /// Resets the connection (RST) after a number of bytes of the body.
    public var resetAfterBytes: Int?
    /// Closes the connection after a number of bytes of the body.
    public var closeAfterBytes: Int?
    /// Stops sending after a number of bytes of the body, and keeps the connection open.
    public var stallAfterBytes: Int?
    /// Declares this Content-Length instead of the true one.
    public var declaredLength: Int?
    /// Sends the body with chunked transfer coding (RFC 9112, section 7.1).
    public var isChunked = false
    /// Omits Content-Length and ends the body by closing the connection.
    public var endsWithConnection = false
    /// Sends these bytes instead of a response, and closes the connection.
    public var rawResponse: Data?

    /// Creates a value without faults.
    public init() {}
}

/// A gate that holds responses until a test opens it, on any thread.
public final class ServerGate: Sendable {
    /// The read end of a pipe whose write end is closed when the gate opens. A server thread can wait for the gate and its client
    /// with one poll(2).
    let descriptor: Int32
    private let writeEnd: Mutex<Int32?>
    private let waiting = Mutex(0)

    /// Creates a gate.
    /// - Parameter isOpen: Whether the gate is open from the start. Default: false.
    public init(isOpen: Bool = false) {
        var ends: [Int32] = [-1, -1]
        // Close-on-exec is set atomically, because a child process that inherits the write end would keep the gate closed.
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
    package var waitingCount: Int { waiting.withLock { $0 } }

    /// Opens the gate permanently.
    public func open() {
        if let end = writeEnd.withLock({ $0.take() }) { Glibc.close(end) }
    }

    func enter() { waiting.withLock { $0 += 1 } }
    func leave() { waiting.withLock { $0 -= 1 } }
}
