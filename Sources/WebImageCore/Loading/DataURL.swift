package import FoundationEssentials

/// The parts of a `data:` URL (RFC 2397), read as browsers read them (Fetch standard, "data: URL processor").
package struct DataURL {
    package let mediaType: String
    package let data: Data

    package init?(_ text: String) {
        guard text.isDataURL else { return nil }
        var text = text
        let parts = text.withUTF8 { Self.parts(of: $0) }
        guard let parts else { return nil }
        mediaType = parts.mediaType
        data = parts.data
    }

    private static func parts(of bytes: UnsafeBufferPointer<UInt8>) -> (mediaType: String, data: Data)? {
        // A fragment is not part of the data.
        let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        guard let comma = bytes[5..<end].firstIndex(of: UInt8(ascii: ",")) else { return nil }
        let head = String(decoding: bytes[5..<comma], as: UTF8.self)
        var parameters = head.filter { $0 != " " }.split(separator: ";").map(String.init)
        let isBase64 = parameters.last?.lowercased() == "base64"
        if isBase64 { parameters.removeLast() }
        guard let plain = percentDecoded(UnsafeBufferPointer(rebasing: bytes[(comma + 1)..<end]), isBase64: isBase64),
            let data = isBase64 ? Data(base64Encoded: plain) : plain
        else { return nil }
        return (parameters.first ?? "text/plain", data)
    }

    /// The bytes of a percent-encoded text; `nil` if it is malformed.
    static func percentDecoded(_ text: String) -> Data? {
        var text = text
        return text.withUTF8 { percentDecoded($0, isBase64: false, isStrict: true) }
    }

    /// - Parameters:
    ///   - isBase64: Whether white space is skipped, and padding may be missing.
    ///   - isStrict: Whether a % without two digits is an error rather than a character.
    private static func percentDecoded(
        _ text: UnsafeBufferPointer<UInt8>,
        isBase64: Bool,
        isStrict: Bool = false
    ) -> Data? {
        var isWhole = true
        var bytes = Data(count: text.count + 4)
        let count = bytes.withUnsafeMutableBytes { (target: UnsafeMutableRawBufferPointer) -> Int in
            var (index, count) = (0, 0)
            while index < text.count {
                var byte = text[index]
                index += 1
                if byte == UInt8(ascii: "%") {
                    if index + 2 <= text.count, let high = hexValue(text[index]), let low = hexValue(text[index + 1]) {
                        byte = high << 4 | low
                        index += 2
                    } else if isStrict {
                        isWhole = false
                        return 0
                    }
                }
                if isBase64, byte <= 0x20, [0x20, 0x09, 0x0A, 0x0C, 0x0D].contains(byte) { continue }
                target[count] = byte
                count += 1
            }
            while isBase64, count % 4 > 1 {
                target[count] = UInt8(ascii: "=")
                count += 1
            }
            return count
        }
        return isWhole ? bytes.prefix(count) : nil
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
