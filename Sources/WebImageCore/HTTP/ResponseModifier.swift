public import FoundationEssentials

/// A function that changes or refuses the heads of responses before their bodies are used.
public struct ResponseModifier: Hashable, Sendable {
    /// The head of an HTTP response.
    public struct Response: Sendable {
        /// The URL that was requested last, after redirects.
        public var url: URL
        /// The status code.
        public var status: Int
        /// The header fields by lower-case name. The values of repeated fields are joined by commas.
        public var headers: [String: String]

        /// Makes the head of a response.
        public init(url: URL, status: Int, headers: [String: String] = [:]) {
            self.url = url
            self.status = status
            self.headers = headers
        }
    }

    private let function: KeyedFunction<Response, Response?>

    /// Makes a modifier.
    /// - Parameters:
    ///   - key: A name for the modifier. Modifiers with equal keys are taken to be equal.
    ///   - modify: Returns the head to use, or `nil` to refuse the response, which fails the load with
    ///     ``ImageError/Code/badResponse``. Called on the network thread, so it must be quick.
    public init(key: String, _ modify: @escaping @Sendable (Response) -> Response?) {
        function = KeyedFunction(key: key, modify)
    }

    /// The name by which modifiers are compared.
    public var key: String { function.key }

    package func modify(_ response: Response) -> Response? { function(response) }

    /// A modifier that sets header fields, such as a Cache-Control that the server lacks.
    public static func headers(_ headers: [String: String]) -> ResponseModifier {
        let lowercased = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { $1 }
        return ResponseModifier(key: "headers(\(lowercased.sorted { $0.key < $1.key }))") { response in
            var response = response
            response.headers.merge(lowercased) { $1 }
            return response
        }
    }

    /// A modifier that applies this one, then another.
    public func then(_ other: ResponseModifier) -> ResponseModifier {
        ResponseModifier(key: "\(key) \(other.key)") { self.modify($0).flatMap(other.modify) }
    }
}
