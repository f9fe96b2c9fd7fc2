public import Foundation
import Synchronization

/// An HTTP/1.1 server on 127.0.0.1 for tests and demos: it answers GET and HEAD with what a closure says, keeps a log,
/// and misbehaves on demand (ServerFaults), which is why it is not a well-behaved one from a package.
///
/// A thread per connection, 64 at most; further ones wait.
public final class LocalImageServer: Sendable {
    private struct State {
        var requests: [ServerRequest] = []
        var connections: [Int: ServerSocket] = [:]
        var connectionCount = 0
        var isStopped = false
    }

    /// What the threads share with the server, and keep while they run.
    private final class Shared: Sendable {
        let listener: ServerSocket
        let handler: @Sendable (ServerRequest) -> ServerResponse
        let state = Mutex(State())
        let room = DispatchSemaphore(value: 64)

        init(_ listener: ServerSocket, _ handler: @escaping @Sendable (ServerRequest) -> ServerResponse) {
            self.listener = listener
            self.handler = handler
        }
    }

    private let shared: Shared
    /// The port on 127.0.0.1.
    public let port: UInt16

    /// Starts to listen.
    /// - Parameters:
    ///   - port: Default: one that the kernel picks.
    ///   - handler: Says what a request is answered with. Called on the thread of the connection.
    /// - Throws: ServerError when the port is taken.
    public init(port: UInt16 = 0, handler: @escaping @Sendable (ServerRequest) -> ServerResponse) throws {
        let listener = try ServerSocket.listen(port: port)
        self.port = listener.localPort
        shared = Shared(listener, handler)
        let shared = shared
        Self.startThread("gwi-server") { Self.accept(shared) }
    }

    deinit {
        stop()
    }

    /// http://127.0.0.1:PORT.
    public var baseURL: URL { URL(string: "http://127.0.0.1:\(port)")! }

    /// The URL of a path, which begins with a slash and is percent-encoded as far as it has to be.
    public func url(_ path: String) -> URL { URL(string: "http://127.0.0.1:\(port)\(path)")! }

    /// All requests so far, in the order in which they came.
    public var requests: [ServerRequest] { shared.state.withLock { $0.requests } }

    /// How often a path was asked for.
    public func requestCount(path: String) -> Int { requests.count { $0.path == path } }

    /// Forgets the requests so far.
    public func resetLog() { shared.state.withLock { $0.requests = [] } }

    /// Connections that are open now.
    public var openConnections: Int { shared.state.withLock { $0.connections.count } }

    /// Connections that were ever opened.
    public var totalConnections: Int { shared.state.withLock { $0.connectionCount } }

    /// Ends the server and every connection, whatever it waits for. Harmless when it has ended.
    public func stop() {
        shared.state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            shared.listener.shutDown()
            for socket in state.connections.values { socket.shutDown() }
        }
    }

    private static func accept(_ shared: Shared) {
        while let socket = shared.listener.acceptConnection() {
            shared.room.wait()
            let number: Int? = shared.state.withLock { state in
                guard !state.isStopped else { return nil }
                state.connectionCount += 1
                state.connections[state.connectionCount] = socket
                return state.connectionCount
            }
            guard let number else {
                socket.close()
                break
            }
            startThread("gwi-connection") { serve(socket, number, shared) }
        }
        shared.listener.close()
    }

    private static func serve(_ socket: ServerSocket, _ number: Int, _ shared: Shared) {
        let connection = ServerConnection(socket: socket, number: number) { request in
            shared.state.withLock { $0.requests.append(request) }
            return shared.handler(request)
        }
        connection.run {
            // Forgotten before it is closed: its number may be another's right after.
            _ = shared.state.withLock { $0.connections.removeValue(forKey: number) }
        }
        shared.room.signal()
    }

    private static func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        thread.start()
    }
}
