internal import CWebImageGLib
import FoundationEssentials

/// The signatures of services, computed by GLib.
enum Signature {
    enum Hash: Sendable {
        case sha1
        case sha256
    }

    /// The keyed hash of a message (HMAC, RFC 2104).
    static func code(of message: [UInt8], key: [UInt8], _ hash: Hash) -> [UInt8] {
        // The call returns `nil` only for unknown kinds.
        let hmac = g_hmac_new(hash.kind, key, gsize(key.count))!
        defer { g_hmac_unref(hmac) }
        g_hmac_update(hmac, message, gssize(message.count))
        return digest(hash) { g_hmac_get_digest(hmac, $0, $1) }
    }

    /// The hash of a message.
    static func hash(of message: [UInt8], _ hash: Hash) -> [UInt8] {
        let checksum = g_checksum_new(hash.kind)!
        defer { g_checksum_free(checksum) }
        g_checksum_update(checksum, message, gssize(message.count))
        return digest(hash) { g_checksum_get_digest(checksum, $0, $1) }
    }

    private static func digest(
        _ hash: Hash,
        _ read: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<gsize>) -> Void
    ) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: hash.byteCount) { buffer, count in
            var written = gsize(hash.byteCount)
            if let start = buffer.baseAddress { read(start, &written) }
            count = Int(written)
        }
    }
}

extension Signature.Hash {
    fileprivate var kind: GChecksumType {
        switch self {
        case .sha1: G_CHECKSUM_SHA1
        case .sha256: G_CHECKSUM_SHA256
        }
    }

    fileprivate var byteCount: Int { Int(g_checksum_type_get_length(kind)) }
}

extension [UInt8] {
    /// The bytes as Base64 for URLs (RFC 4648, section 5).
    func base64ForURLs(isPadded: Bool) -> String {
        let text = Data(self).base64EncodedString()
        var bytes = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        while !isPadded, bytes.last == UInt8(ascii: "=") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The bytes of pairs of hexadecimal digits; `nil` for any other text.
    init?(hexadecimal text: String) {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
