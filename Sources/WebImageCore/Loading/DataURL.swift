package import FoundationEssentials

/// The parts of a `data:` URL (RFC 2397).
package struct DataURL {
    package let mediaType: String
    package let data: Data

    package init?(_ text: String) {
        guard text.prefix(5).lowercased() == "data:", let comma = text.firstIndex(of: ",") else { return nil }
        var parameters = text[text.index(text.startIndex, offsetBy: 5)..<comma].split(separator: ";")
        let payload = text[text.index(after: comma)...]
        let isBase64 = parameters.last?.lowercased() == "base64"
        if isBase64 { parameters.removeLast() }
        mediaType = parameters.first.map(String.init) ?? "text/plain"
        guard let plain = Self.percentDecoded(payload) else { return nil }
        if isBase64 {
            guard let decoded = Data(base64Encoded: plain.filter { !Self.whitespace.contains($0) }) else { return nil }
            data = decoded
        } else {
            data = plain
        }
    }

    private static let whitespace: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]

    /// The bytes of a text with percent-encoding; `nil` when it is malformed.
    static func percentDecoded(_ text: Substring) -> Data? {
        var bytes = Data(capacity: text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
