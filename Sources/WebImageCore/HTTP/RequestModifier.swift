public import FoundationEssentials

/// A function that changes requests before they are sent, for example to sign them or to add a token.
///
/// One that waits for something, such as a token, is asynchronous. It has no thread and no place among the transfers meanwhile:
/// other loads go on. A load whose modifier has not answered within ``NetworkOptions/idleTimeout`` fails with
/// ``ImageError/Code/timedOut``; ``NetworkOptions/totalTimeout`` counts the wait, too. When the last task of the load is cancelled, so
/// is the Swift task in which the modifier runs.
///
/// After a response with status 401 the modifier is asked once more, with ``Request/refusal``. The request is sent again if it
/// differs from the one that was refused; otherwise, or when the server refuses it again, the load fails with the 401.
public struct RequestModifier: Hashable, Sendable {
    /// An HTTP request as it is about to be sent.
    public struct Request: Sendable {
        /// The URL that is requested.
        public var url: URL
        /// The HTTP method. Default: GET.
        public var method: String
        /// The header fields that the library sets, by name. A field that is set in another case replaces the one that was there.
        public var headers: [String: String]
        /// The request body, for methods that have one. Default: none.
        public var body: Data?
        /// What the modifier has returned before, and the server has refused with status 401; `nil` the first time.
        public package(set) var refusal: Refusal?

        /// Makes a request.
        package init(url: URL, method: String = "GET", headers: [String: String] = [:], body: Data? = nil) {
            self.url = url
            self.method = method
            self.headers = headers
            self.body = body
        }

        /// Whether both would be sent alike.
        package func isSame(as other: Request) -> Bool {
            (url, method, headers) == (other.url, other.method, other.headers) && body == other.body
        }
    }

    /// A request that the server has refused with status 401.
    public struct Refusal: Sendable {
        /// The header fields that were sent, by name: a token that is still among them is the one to replace.
        public let headers: [String: String]
        /// The head of the response, whose WWW-Authenticate field may say why.
        public let response: ResponseHead

        package init(headers: [String: String], response: ResponseHead) {
            self.headers = headers
            self.response = response
        }
    }

    package enum Function: Sendable {
        case immediate(@Sendable (Request) -> Request?)
        case asynchronous(@Sendable (Request) async throws -> Request?)
    }

    private let keyed: Keyed<Function>

    /// The name by which modifiers are compared.
    package var key: String { keyed.key }
    package var function: Function { keyed.value }

    /// Makes a modifier that knows at once what to change.
    /// - Parameters:
    ///   - key: A name for the modifier. Modifiers with equal keys are taken to be equal.
    ///   - modify: Returns the request to send, or `nil` to refuse it, which fails the load with
    ///     ``ImageError/Code/invalidRequest``. Called on the network thread, so it must be quick; called again for each
    ///     redirect to the same origin, and once after a status 401. For a cached response with `Vary` it is called on threads that
    ///     read the disk cache, too, to compare the fields; nothing is sent then.
    public init(key: String, _ modify: @escaping @Sendable (Request) -> Request?) {
        keyed = Keyed(key: key, value: .immediate(modify))
    }

    /// Makes a modifier that may wait for what it needs, and may fail.
    /// - Parameters:
    ///   - key: A name for the modifier. Modifiers with equal keys are taken to be equal.
    ///   - modify: Returns the request to send, or `nil` to refuse it. Called on a thread of Swift's concurrency when there is room for
    ///     the transfer, which then waits for its turn again; called again for each redirect to the same origin, and once after a
    ///     status 401. The load fails with an ``ImageError`` that it throws, and is retried after one that
    ///     ``ImageError/isTransient``; another error ends in ``ImageError/Code/invalidRequest``.
    public init(key: String, _ modify: @escaping @Sendable (Request) async throws -> Request?) {
        keyed = Keyed(key: key, value: .asynchronous(modify))
    }

    package func modify(_ request: Request) async throws -> Request? {
        switch function {
        case .immediate(let modify): modify(request)
        case .asynchronous(let modify): try await modify(request)
        }
    }

    /// A modifier that sets header fields.
    public static func headers(_ headers: [String: String]) -> RequestModifier {
        RequestModifier(key: "headers(\(headers.sorted { $0.key < $1.key }))") { request in
            var request = request
            request.headers = request.headers.replacingFields(with: headers)
            return request
        }
    }

    /// A modifier that applies this one, then another. It is asynchronous if one of them is.
    public func then(_ other: RequestModifier) -> RequestModifier {
        let key = keyed.key(followedBy: other.keyed)
        if case .immediate(let first) = function, case .immediate(let second) = other.function {
            return RequestModifier(key: key) { first($0).flatMap(second) }
        }
        return RequestModifier(key: key) { request in
            guard let first = try await self.modify(request) else { return nil }
            return try await other.modify(first)
        }
    }
}
