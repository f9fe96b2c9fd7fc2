package import FoundationEssentials

/// The colour profile (ICC) that a file carries, for the formats whose decoders do not hand it out.
package enum EmbeddedProfile {
    /// Larger ones are not worth reading; printers have some of a few megabytes.
    private static let limit = 4 << 20

    /// - Returns: nil when there is none, or it is damaged: the colours are sRGB then, as everybody takes them.
    package static func read(_ data: Data) -> Data? {
        let format = ImageFormat(sniffing: data)
        return data.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            return switch format {
            case .jpeg: jpeg(bytes)
            case .webp: webp(bytes)
            default: nil
            }
        }
    }

    /// In APP2 segments, in parts that are numbered from 1 (ICC.1:2010, B.4).
    private static func jpeg(_ bytes: ByteReader) -> Data? {
        var parts: [UInt8: Data] = [:]
        var total: UInt8 = 0
        JPEGHeader.forEachSegmentBeforeScan(bytes) { marker, contents, length in
            guard marker == 0xE2, length > 14, bytes.matches("ICC_PROFILE\0", at: contents),
                let number = bytes.uint8(contents + 12), let count = bytes.uint8(contents + 13)
            else { return }
            total = count
            parts[number] = bytes.data(contents + 14, length - 14)
        }
        guard total > 0, parts.count == Int(total) else { return nil }
        var profile = Data()
        for number in 1...total {
            guard let part = parts[number], profile.count + part.count <= limit else { return nil }
            profile.append(part)
        }
        return profile
    }

    /// In a chunk before the pixels (RFC 9649, 2.7.1.4).
    private static func webp(_ bytes: ByteReader) -> Data? {
        var offset = 12
        while let length = bytes.uint32LE(offset + 4), length <= UInt32(Int32.max) {
            if bytes.matches("ICCP", at: offset) {
                return Int(length) <= limit ? bytes.data(offset + 8, Int(length)) : nil
            }
            if bytes.matches("VP8 ", at: offset) || bytes.matches("VP8L", at: offset)
                || bytes.matches("ANMF", at: offset)
            {
                return nil
            }
            offset += 8 + Int(length) + Int(length & 1)
        }
        return nil
    }
}
