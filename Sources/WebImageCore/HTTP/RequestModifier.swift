public import FoundationEssentials

/// A function that changes requests before they are sent, for example to sign them.
public struct RequestModifier: Hashable, Sendable {
    /// An HTTP request as it is about to be sent.
    public struct Request: Sendable {
        /// The URL that is requested.
        public var url: URL
        /// The HTTP method. Default: GET.
        public var method: String
        /// The header fields that the library sets, by name.
        public var headers: [String: String]
        /// The request body, for methods that have one. Default: none.
        public var body: Data?

        /// Makes a request.
        public init(url: URL, method: String = "GET", headers: [String: String] = [:], body: Data? = nil) {
            self.url = url
            self.method = method
            self.headers = headers
            self.body = body
        }
    }

    private let function: KeyedFunction<Request, Request?>

    /// Makes a modifier.
    /// - Parameters:
    ///   - key: A name for the modifier. Modifiers with equal keys are taken to be equal.
    ///   - modify: Returns the request to send, or `nil` to refuse it, which fails the load with
    ///     ``ImageError/Code/invalidRequest``. Called on the network thread, so it must be quick; called again for each
    ///     redirect to the same origin.
    public init(key: String, _ modify: @escaping @Sendable (Request) -> Request?) {
        function = KeyedFunction(key: key, modify)
    }

    /// The name by which modifiers are compared.
    public var key: String { function.key }

    package func modify(_ request: Request) -> Request? { function(request) }

    /// A modifier that sets header fields.
    public static func headers(_ headers: [String: String]) -> RequestModifier {
        RequestModifier(key: "headers(\(headers.sorted { $0.key < $1.key }))") { request in
            var request = request
            request.headers.merge(headers) { $1 }
            return request
        }
    }

    /// A modifier that applies this one, then another.
    public func then(_ other: RequestModifier) -> RequestModifier {
        RequestModifier(key: "\(key) \(other.key)") { self.modify($0).flatMap(other.modify) }
    }
}
