public import FoundationEssentials

/// A function that turns the body that a server sends into the bytes of an image.
///
/// The disk cache keeps the decrypted bytes. An image that needs a decryptor has no partial images.
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
    public var key: String { function.key }

    package func decrypt(_ body: Data, _ response: ResponseModifier.Response) -> Data? { function((body, response)) }

    /// A decryptor for servers that send Base64. It ignores characters outside the alphabet.
    public static let base64 = Decryptor(key: "base64") { data, _ in
        Data(base64Encoded: data, options: .ignoreUnknownCharacters)
    }
}
