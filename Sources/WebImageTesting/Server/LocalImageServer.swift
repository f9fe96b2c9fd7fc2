public import Foundation
import Synchronization

/// An HTTP/1.1 server on 127.0.0.1 for tests and demos. A closure answers GET and HEAD requests, which are logged.
///
/// The server is custom because it must misbehave on demand (`ServerFaults`), which no HTTP server package supports. It uses one
/// thread per connection, at most 64; further connections wait.
public final class LocalImageServer: Sendable {
    private struct State {
        var requests: [ServerRequest] = []
        var connections: [Int: ServerSocket] = [:]
        var connectionCount = 0
        var isStopped = false
    }

    /// The state that the threads share with the server.
    private final class Shared: Sendable {
        let listener: ServerSocket
        let handler: @Sendable (ServerRequest) -> ServerResponse
        let state = Mutex(State())
        /// Starts at zero, because releasing a semaphore below its initial value crashes, and connections may outlive the server.
        let freeConnections = DispatchSemaphore(value: 0)

        init(_ listener: ServerSocket, _ handler: @escaping @Sendable (ServerRequest) -> ServerResponse) {
            self.listener = listener
            self.handler = handler
            for _ in 0..<64 { freeConnections.signal() }
        }
    }

    private let shared: Shared
    /// The port on 127.0.0.1.
    public let port: UInt16

    /// Starts listening.
    /// - Parameters:
    ///   - port: The port to listen on. Default: any free port.
    ///   - handler: Returns the response to a request. Called on the thread of the connection.
    /// - Throws: An error that names the failed call, such as bind for a port in use.
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

    /// The URL of the server, http://127.0.0.1:PORT.
    public var baseURL: URL { URL(string: "http://127.0.0.1:\(port)")! }

    /// Returns the URL of a path, which must begin with a slash and be percent-encoded.
    public func url(_ path: String) -> URL { URL(string: "http://127.0.0.1:\(port)\(path)")! }

    /// The requests so far, in order of arrival: the newest 100,000.
    public var requests: [ServerRequest] { shared.state.withLock { $0.requests } }

    private static let loggedCount = 100_000

    /// The number of requests for a path.
    public func requestCount(path: String) -> Int { requests.count { $0.path == path } }

    /// Clears `requests`.
    package func resetLog() { shared.state.withLock { $0.requests = [] } }

    /// The number of open connections.
    package var openConnections: Int { shared.state.withLock { $0.connections.count } }

    /// The number of connections opened so far.
    package var totalConnections: Int { shared.state.withLock { $0.connectionCount } }

    /// Stops the server and closes every connection, even one that is being held. Later calls do nothing.
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
            shared.freeConnections.wait()
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
            startThread("gwi-connection") { serve(socket, number: number, shared) }
        }
        shared.listener.close()
    }

    private static func serve(_ socket: ServerSocket, number: Int, _ shared: Shared) {
        let connection = ServerConnection(socket: socket, number: number) { request in
            shared.state.withLock { state in
                state.requests.append(request)
                if state.requests.count >= 2 * loggedCount { state.requests.removeFirst(loggedCount) }
            }
            return shared.handler(request)
        }
        connection.run {
            // The connection is removed before it is closed, because its descriptor may be reused right after.
            withExtendedLifetime(shared.state.withLock { $0.connections.removeValue(forKey: number) }) {}
        }
        shared.freeConnections.signal()
    }

    private static func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        thread.start()
    }
}
