package import FoundationEssentials
import WebImageCore
package import WebImageTesting

extension TestImage {
    /// Inserts a colour profile into a PNG (PNG specification, 11.3.2.3). gdk-pixbuf's writer accepts none for RGB.
    /// - Parameter profile: The profile, at most 65,535 bytes.
    package static func png(_ file: Data, with profile: Data) -> Data {
        // The profile is one stored block without compression (RFC 1950, RFC 1951).
        let length = UInt16(profile.count)
        var contents = Data("p\0\0".utf8) + Data([0x78, 0x01, 0x01])
        contents += Data([UInt8(length & 255), UInt8(length >> 8), UInt8(~length & 255), UInt8(~length >> 8)])
        contents += profile + bigEndian(adler(profile))
        let typed = Data("iCCP".utf8) + contents
        let chunk = bigEndian(UInt32(contents.count)) + typed + bigEndian(crc(typed))
        // The chunk follows the signature and IHDR.
        return file.prefix(33) + chunk + file.dropFirst(33)
    }

    private static func bigEndian(_ number: UInt32) -> Data {
        Data([24, 16, 8, 0].map { UInt8(number >> $0 & 255) })
    }

    private static func adler(_ data: Data) -> UInt32 {
        let (low, high) = data.reduce((UInt32(1), UInt32(0))) { sums, byte in
            let low = (sums.0 + UInt32(byte)) % 65521
            return (low, (sums.1 + low) % 65521)
        }
        return high << 16 | low
    }

    private static func crc(_ data: Data) -> UInt32 {
        ~data.reduce(UInt32.max) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
    }
}
