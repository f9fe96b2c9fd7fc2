public import FoundationEssentials

/// Makes the bytes of an image of what a server sends. What it returns is what the disk cache keeps. There are no
/// partial images of what needs it.
public struct Decryptor: Hashable, Sendable {
    /// Tells decryptors apart; those with equal keys are taken for the same.
    public let key: String
    package let decrypt: @Sendable (Data, HTTPResponse) -> Data?

    /// Makes a decryptor.
    /// - Parameters:
    ///   - key: See key.
    ///   - decrypt: Returns the image, or nil when it cannot, which ends the load with
    ///     ``ImageError/Code/badImageData``. Called on a background thread.
    public init(key: String, _ decrypt: @escaping @Sendable (Data, HTTPResponse) -> Data?) {
        self.key = key
        self.decrypt = decrypt
    }

    /// For servers that send Base64; characters that are none are ignored.
    public static let base64 = Decryptor(key: "base64") { data, _ in
        Data(base64Encoded: data, options: .ignoreUnknownCharacters)
    }

    /// By key.
    public static func == (lhs: Decryptor, rhs: Decryptor) -> Bool { lhs.key == rhs.key }

    /// By key.
    public func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
