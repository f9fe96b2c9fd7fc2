public import FoundationEssentials

/// A function that changes or refuses the heads of responses before their bodies are used.
public struct ResponseModifier: Hashable, Sendable {
    private let function: Keyed<@Sendable (ResponseHead) -> ResponseHead?>

    /// Creates a modifier.
    /// - Parameters:
    ///   - key: A name for the modifier. Modifiers with equal keys are considered equal.
    ///   - modify: Returns the head to use, or `nil` to refuse the response, which fails the load with
    ///     ``ImageError/Code/badResponse``. Called on the network thread, so it must return quickly.
    public init(key: String, _ modify: @escaping @Sendable (ResponseHead) -> ResponseHead?) {
        function = Keyed(key: key, value: modify)
    }

    /// The name that modifiers are compared by.
    package var key: String { function.key }

    package func modify(_ response: ResponseHead) -> ResponseHead? { function.value(response) }

    /// A modifier that sets header fields, such as a Cache-Control that the server does not send.
    public static func headers(_ headers: [String: String]) -> ResponseModifier {
        let lowercased = headers.fieldsByLowercasedName
        return ResponseModifier(key: "headers(\(lowercased.sorted { $0.key < $1.key }))") { response in
            var response = response
            response.headers.merge(lowercased) { $1 }
            return response
        }
    }

    /// A modifier that applies this one, then another.
    public func then(_ other: ResponseModifier) -> ResponseModifier {
        ResponseModifier(key: function.key(followedBy: other.function)) { self.modify($0).flatMap(other.modify) }
    }
}

/// A function that turns the body of a response, or the bytes of a file, into the bytes of an image.
///
/// A request's decryptor applies to http, https, file, data and resource URLs; the downloader's only to its own transfers. For a
/// file it receives a head with status 200 and no fields. The disk cache stores the decrypted bytes. There are no partial images.
public struct ImageDecryptor: Hashable, Sendable {
    private let function: Keyed<@Sendable (Data, ResponseHead) -> Data?>

    /// Creates a decryptor.
    /// - Parameters:
    ///   - key: A name for the decryptor. Decryptors with equal keys are considered equal.
    ///   - decrypt: Returns the image, or `nil` if the body cannot be decrypted, which fails the load with
    ///     ``ImageError/Code/badImageData``. Called on a background thread.
    public init(key: String, _ decrypt: @escaping @Sendable (Data, ResponseHead) -> Data?) {
        function = Keyed(key: key, value: decrypt)
    }

    /// The name that decryptors are compared by.
    package var key: String { function.key }

    func decrypt(_ body: Data, _ response: ResponseHead) -> Data? { function.value(body, response) }

    /// A decryptor for servers that send Base64. It ignores characters outside the alphabet.
    public static let base64 = ImageDecryptor(key: "base64") { data, _ in
        Data(base64Encoded: data, options: .ignoreUnknownCharacters)
    }
}

/// A value that is compared by a key, because closures cannot be compared.
struct Keyed<Value: Sendable>: Hashable, Sendable {
    let key: String
    let value: Value

    init(key: String, value: Value) {
        self.key = key
        self.value = value
    }

    /// The key of this value and another one, in order. Keys may contain any character, so the length marks where one ends.
    func key(followedBy other: Self) -> String { "\(key.utf8.count):\(key) \(other.key)" }

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.key == rhs.key }

    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
