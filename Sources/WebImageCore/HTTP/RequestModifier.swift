public import FoundationEssentials

/// A function that changes requests before they are sent, for example to sign them or to add a token.
///
/// An asynchronous modifier can wait, for example for a token. In the meantime it occupies no thread and no place among
/// the transfers, and other loads continue. If it has not answered within ``NetworkOptions/idleTimeout``, the load
/// fails with ``ImageError/Code/timedOut``; the wait also counts for ``NetworkOptions/totalTimeout``. Cancelling the
/// last task of the load cancels the Swift task of the modifier.
///
/// After a response with status 401 the modifier is called once more, with ``Request/refusal``. The request is sent again
/// if it differs from the refused one. If it does not, or if the server refuses it again, the load fails with the 401.
public struct RequestModifier: Hashable, Sendable {
    /// An HTTP request as it is about to be sent.
    public struct Request: Sendable {
        /// The URL that is requested.
        public var url: URL
        /// The HTTP method. Default: GET.
        public var method: String
        /// The header fields that the library sets, by name. Setting a field in another case replaces the existing one.
        public var headers: [String: String]
        /// The request body, for methods that have one. Default: none.
        public var body: Data?
        /// The earlier request of the modifier, which the server has refused with status 401; `nil` the first time.
        public package(set) var refusal: Refusal?

        /// Creates a request.
        package init(url: URL, method: String = "GET", headers: [String: String] = [:], body: Data? = nil) {
            self.url = url
            self.method = method
            self.headers = headers
            self.body = body
        }

        /// Whether both requests are sent in the same way.
        package func isSame(as other: Request) -> Bool {
            (url, method, headers) == (other.url, other.method, other.headers) && body == other.body
        }
    }

    /// A request that the server has refused with status 401.
    public struct Refusal: Sendable {
        /// The header fields that were sent, by name. A token that is still among them is the one to replace.
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

    /// The name that modifiers are compared by.
    package var key: String { keyed.key }
    package var function: Function { keyed.value }

    /// Creates a synchronous modifier.
    /// - Parameters:
    ///   - key: A name for the modifier. Modifiers with equal keys are considered equal.
    ///   - modify: Returns the request to send, or `nil` to refuse it, which fails the load with
    ///     ``ImageError/Code/invalidRequest``. Called on the network thread, so it must return quickly. Called again
    ///     for each redirect to the same origin, and once after status 401. For a cached response with `Vary`, it is
    ///     also called on threads that read the disk cache, to compare fields; nothing is sent then.
    public init(key: String, _ modify: @escaping @Sendable (Request) -> Request?) {
        keyed = Keyed(key: key, value: .immediate(modify))
    }

    /// Creates an asynchronous modifier, which may wait and may throw.
    /// - Parameters:
    ///   - key: A name for the modifier. Modifiers with equal keys are considered equal.
    ///   - modify: Returns the request to send, or `nil` to refuse it. Called on a thread of Swift's concurrency when
    ///     there is room for the transfer, which then waits for its turn again. Called again for each redirect to the
    ///     same origin, and once after status 401. If it throws an ``ImageError``, the load fails with that error, and
    ///     is retried if ``ImageError/isTransient`` is true; other errors end in ``ImageError/Code/invalidRequest``.
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
