internal import CWebImageDeflate
import FoundationEssentials
import WebImageCore
import WebImageFormats
import WebImageLinux

/// The tEXt chunks of a PNG file (PNG specification, section 11.3.4.3): keys and values in Latin-1.
enum PNGText {
    private static let name: UInt32 = 0x7445_5874
    /// The position after the signature and IHDR, which is the first chunk.
    private static let start = 33

    /// The texts of a file. Of several with the same key, the first counts.
    static func texts(in file: Data) -> [String: String] {
        file.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            var texts: [String: String] = [:]
            guard bytes.matches("IHDR", at: 12) else { return texts }
            for chunk in PNGChunks(bytes) where chunk.name.rawValue == name {
                guard chunk.isWhole, let contents = bytes.slice(chunk.contents.lowerBound, chunk.contents.count),
                    let end = contents.firstIndex(of: 0, from: 0)
                else { continue }
                let key = text(contents.bytes[..<end])
                if texts[key] == nil { texts[key] = text(contents.bytes[(end + 1)...]) }
            }
            return texts
        }
    }

    /// The file with texts inserted before its existing ones.
    static func adding(_ texts: [(key: String, value: String)], to file: Data) -> Data {
        guard file.count >= start else { return file }
        var result = Data(file.prefix(start))
        for (key, value) in texts {
            var chunk = Data()
            chunk.append(bigEndian: name)
            for scalar in "\(key)\0\(value)".unicodeScalars {
                chunk.append(UInt8(exactly: scalar.value) ?? UInt8(ascii: "?"))
            }
            result.append(bigEndian: UInt32(chunk.count - 4))
            result.append(chunk)
            result.append(bigEndian: chunk.withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress, $0.count) })
        }
        result.append(file.dropFirst(start))
        return result
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
