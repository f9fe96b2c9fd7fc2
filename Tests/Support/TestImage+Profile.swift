package import FoundationEssentials
import WebImageCore
package import WebImageTesting

extension TestImage {
    /// Inserts a colour profile into a PNG (PNG specification, 11.3.2.3). gdk-pixbuf's writer accepts none for RGB.
    /// - Parameter profile: The profile, at most 65,535 bytes.
    package static func png(_ file: Data, with profile: Data) -> Data {
        let chunk = chunk("iCCP", Array("p\0\0".utf8) + stored(Array(profile)))
        // The chunk follows the signature and IHDR.
        return file.prefix(33) + chunk + file.dropFirst(33)
    }

    /// A PNG file of chunks.
    package static func png(_ chunks: [(name: String, contents: [UInt8])]) -> Data {
        chunks.reduce(Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])) { $0 + chunk($1.name, $1.contents) }
    }

    /// A chunk of a PNG file.
    package static func chunk(_ name: String, _ contents: [UInt8]) -> Data {
        let typed = Data(name.utf8) + Data(contents)
        return bigEndian(UInt32(contents.count)) + typed + bigEndian(crc(typed))
    }

    /// At most 65,535 bytes as one zlib block without compression (RFC 1950, RFC 1951).
    package static func stored(_ bytes: [UInt8]) -> [UInt8] {
        let length = UInt16(bytes.count)
        let header = [0x78, 0x01, 0x01, UInt8(length & 255), UInt8(length >> 8)]
        return header + [UInt8(~length & 255), UInt8(~length >> 8)] + bytes + Array(bigEndian(adler(Data(bytes))))
    }

    private static func bigEndian(_ number: UInt32) -> Data {
        Data([24, 16, 8, 0].map { UInt8(number >> $0 & 255) })
    }

    private static func adler(_ data: Data) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in data {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return high << 16 | low
    }

    private static func crc(_ data: Data) -> UInt32 {
        var crc = UInt32.max
        for byte in data {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
