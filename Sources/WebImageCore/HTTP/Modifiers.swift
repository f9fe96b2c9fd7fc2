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
        package init(url: URL, method: String = "GET", headers: [String: String] = [:], body: Data? = nil) {
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
    package var key: String { function.key }

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
        package init(url: URL, status: Int, headers: [String: String] = [:]) {
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
    package var key: String { function.key }

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

/// A function that turns the body that a server sends, or the bytes of a file, into the bytes of an image.
///
/// That of a request decrypts whatever its loader brings of http, https, file, data and resource URLs; that of a downloader what the
/// downloader brings. A file is decrypted with the status 200 and without header fields. The disk cache keeps the decrypted bytes. An image that needs a decryptor has no partial images.
public struct Decryptor: Hashable, Sendable {
    private let function: KeyedFunction<(Data, ResponseModifier.Response), Data?>

    /// Makes a decryptor.
    /// - Parameters:
    ///   - key: A name for the decryptor. Decryptors with equal keys are taken to be equal.
    ///   - decrypt: Returns the image, or `nil` when the body cannot be decrypted, which fails the load with
    ///     ````ImageError/Code/badImageData````. Called on a background thread.
    public init(key: String, _ decrypt: @escaping @Sendable (Data, ResponseModifier.Response) -> Data?) {
        function = KeyedFunction(key: key) { decrypt($0.0, $0.1) }
    }

    /// The name by which decryptors are compared.
    package var key: String { function.key }

    package func decrypt(_ body: Data, _ response: ResponseModifier.Response) -> Data? { function((body, response)) }

    /// A decryptor for servers that send Base64. It ignores characters outside the alphabet.
    public static let base64 = Decryptor(key: "base64") { data, _ in
        Data(base64Encoded: data, options: .ignoreUnknownCharacters)
    }
}

/// A closure that is compared by a key, since closures themselves cannot be compared.
package struct KeyedFunction<Input, Output>: Hashable, Sendable {
    package let key: String
    private let body: @Sendable (Input) -> Output

    package init(key: String, _ body: @escaping @Sendable (Input) -> Output) {
        self.key = key
        self.body = body
    }

    package func callAsFunction(_ input: Input) -> Output { body(input) }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.key == rhs.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
