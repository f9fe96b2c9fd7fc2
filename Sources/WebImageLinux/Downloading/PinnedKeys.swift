import FoundationEssentials
import WebImageCore

/// Checks the public keys that an app pins. A malformed key would otherwise look as if the server had another key.
enum PinnedKeys {
    /// The hash of no bytes, which openssl prints if it received no certificate.
    private static let hashOfNothing = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    /// Logs each new pin that is not the hash of a key.
    static func reportMistakes(in pins: [String: Set<String>], known: [String: Set<String>]) {
        for (host, keys) in pins.sorted(by: { $0.key < $1.key }) {
            for key in keys.subtracting(known[host] ?? []).sorted() {
                guard let problem = problem(of: key) else { continue }
                WebImageLog.mistake(
                    """
                    The key \"\(key.prefix(100))\" that is pinned for \(host) \(problem), so that no certificate has it. Pin the \
                    Base64 text of the SHA-256 hash of the server's public key; the page Networking has the command that prints it.
                    """
                )
            }
        }
    }

    /// - Returns: `nil` if the text may be the hash of a key.
    static func problem(of key: String) -> String? {
        guard key != hashOfNothing else { return "is the hash of nothing: the command that printed it got no key" }
        return Data(base64Encoded: key)?.count == 32 ? nil : "is no SHA-256 hash in Base64"
    }
}
