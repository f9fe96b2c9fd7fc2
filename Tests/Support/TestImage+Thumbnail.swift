package import FoundationEssentials
import WebImageCore
package import WebImageTesting

extension TestImage {
    /// Puts segments behind the first marker of a JPEG.
    package static func jpeg(_ file: Data, with segments: [[UInt8]]) -> Data {
        file.prefix(2) + Data(segments.joined()) + file.dropFirst(2)
    }

    /// A segment of a JPEG.
    package static func segment(_ marker: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let length = contents.count + 2
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 255)] + contents
    }

    /// A segment with a colour profile of at most 65,519 bytes (ICC.1:2010, B.4).
    package static func profileSegment(_ profile: Data) -> [UInt8] {
        segment(0xE2, Array("ICC_PROFILE\0\u{1}\u{1}".utf8) + profile)
    }

    /// An Exif segment with an orientation and a thumbnail.
    /// - Parameters:
    ///   - start: Where the second directory says that the thumbnail begins. Default: where it does.
    ///   - length: How long the directory says that it is. Default: as long as it is.
    ///   - next: Where the first directory says that the second one is. Default: where it is.
    package static func exifSegment(
        thumbnail: Data,
        orientation: Int = 1,
        isLittleEndian: Bool = false,
        start: UInt32? = nil,
        length: UInt32? = nil,
        next: UInt32 = 26
    ) -> [UInt8] {
        func number(_ value: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: isLittleEndian ? value.littleEndian : value.bigEndian) { Array($0) }
        }
        func entry(_ tag: UInt16, type: UInt16, _ value: [UInt8]) -> [UInt8] {
            number(tag) + number(type) + number(UInt32(1)) + value
        }
        var tiff = Array((isLittleEndian ? "II" : "MM").utf8) + number(UInt16(42)) + number(UInt32(8))
        tiff += number(UInt16(1)) + entry(0x112, type: 3, number(UInt16(orientation)) + [0, 0]) + number(next)
        tiff += number(UInt16(2))
        tiff += entry(0x201, type: 4, number(start ?? 56))
        tiff += entry(0x202, type: 4, number(length ?? UInt32(thumbnail.count)))
        tiff += number(UInt32(0))
        return segment(0xE1, Array("Exif\0\0".utf8) + tiff + thumbnail)
    }

    /// The number of bytes before the first scan of a JPEG, with the header of the scan.
    package static func headLength(of jpeg: Data) -> Int {
        var offset = 2
        let bytes = [UInt8](jpeg)
        while bytes[offset + 1] != 0xDA { offset += 2 + (Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])) }
        return offset + 2 + (Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3]))
    }
}
