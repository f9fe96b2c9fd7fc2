import FoundationEssentials

/// Hashes the value that a header field had in a request, because the field can be a cookie or a password. The salt is
/// random, so that equal values have different hashes.
package enum VaryingField {
    /// The fields of content negotiation (RFC 9110, 12.5), which say nothing about the user.
    static let negotiating: Set<String> = [
        "accept", "accept-encoding", "accept-language", "user-agent", "origin", "save-data",
    ]

    private static let prefix = "hmac-sha256:"
    private static let keySize = 16

    /// Creates the text to store.
    package static func text(for value: String) -> String {
        text(for: value, key: (0..<keySize).map { _ in .random(in: .min ... .max) })
    }

    private static func text(for value: String, key: [UInt8]) -> String {
        let code = SHA256.authenticationCode(of: Array(value.utf8), key: key)
        return prefix + Data(key + code).base64EncodedString()
    }

    /// Whether a text was made from a value. A text in another form, written by an app, is the value itself.
    static func isText(_ text: String, of value: String) -> Bool {
        guard text.hasPrefix(prefix) else { return text == value }
        guard let data = Data(base64Encoded: String(text.dropFirst(prefix.count))), data.count > keySize else {
            return false
        }
        return Self.text(for: value, key: Array(data.prefix(keySize))) == text
    }
}
