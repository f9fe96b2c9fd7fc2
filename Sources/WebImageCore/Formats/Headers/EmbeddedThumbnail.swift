package import FoundationEssentials

/// A small copy of a JPEG, stored in its file before the image. Its contents are unchecked.
///
/// The previews of an MPF segment (CIPA DC-007) are not used: they lie behind the image, and decoding one takes as long as decoding
/// the image at the size of a widget.
package enum EmbeddedThumbnail: Hashable, Sendable {
    /// A JPEG file.
    case jpeg(Data)
    /// Pixels in rows: three bytes each, or an index into the palette of 256 colors that precedes the pixels.
    case pixels(Data, size: PixelSize, hasPalette: Bool)

    /// The largest number of thumbnails to return: one each of Exif, JFIF and JFXX.
    private static let largestCount = 3

    /// The thumbnails in the first bytes of a JPEG file, in the order of the file.
    package static func all(in bytes: ByteReader) -> [EmbeddedThumbnail] {
        var found: [EmbeddedThumbnail] = []
        var offset = 2
        while found.count < largestCount, let (marker, contents, length) = JPEGHeader.segment(bytes, at: offset) {
            // Metadata segments precede the frame.
            if isFrame(marker) || marker == 0xD9 || marker == 0xDA { break }
            offset = contents + length
            guard marker == 0xE0 || marker == 0xE1, offset <= bytes.count, let segment = bytes.slice(contents, length)
            else { continue }
            if let thumbnail = marker == 0xE1 ? exif(segment) : jfif(segment) ?? jfxx(segment) {
                found.append(thumbnail)
            }
        }
        return found
    }

    private static func isFrame(_ marker: UInt8) -> Bool {
        (0xC0...0xCF).contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
    }

    private static func exif(_ segment: ByteReader) -> EmbeddedThumbnail? {
        guard segment.matches("Exif\0\0", at: 0), let tiff = segment.slice(6, segment.count),
            let range = TIFFHeader.thumbnail(tiff)
        else { return nil }
        return jpeg(tiff, range)
    }

    /// The pixels in the segment that begins a JFIF file (JFIF 1.02, page 5).
    private static func jfif(_ segment: ByteReader) -> EmbeddedThumbnail? {
        guard segment.matches("JFIF\0", at: 0) else { return nil }
        return pixels(segment, sizeAt: 12, hasPalette: false)
    }

    /// The thumbnail in an extension of JFIF (JFIF 1.02, page 6).
    private static func jfxx(_ segment: ByteReader) -> EmbeddedThumbnail? {
        guard segment.matches("JFXX\0", at: 0) else { return nil }
        switch segment.uint8(5) {
        case 0x10: return jpeg(segment, 6..<segment.count)
        case 0x11: return pixels(segment, sizeAt: 6, hasPalette: true)
        case 0x13: return pixels(segment, sizeAt: 6, hasPalette: false)
        default: return nil
        }
    }

    private static func jpeg(_ segment: ByteReader, _ range: Range<Int>) -> EmbeddedThumbnail? {
        guard segment.matches([0xFF, 0xD8, 0xFF], at: range.lowerBound) else { return nil }
        return segment.data(range.lowerBound, range.count).map(EmbeddedThumbnail.jpeg)
    }

    private static func pixels(_ segment: ByteReader, sizeAt start: Int, hasPalette: Bool) -> EmbeddedThumbnail? {
        guard let width = segment.uint8(start), let height = segment.uint8(start + 1), width > 0, height > 0 else {
            return nil
        }
        let size = PixelSize(width: Int(width), height: Int(height))
        let count = hasPalette ? 768 + size.pixelCount : size.pixelCount * 3
        return segment.data(start + 2, count).map { .pixels($0, size: size, hasPalette: hasPalette) }
    }
}
