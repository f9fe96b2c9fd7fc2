/// The marker segments of a JPEG file (ITU-T T.81, annex B).
package enum JPEGHeader {
    /// Reads the size from the frame header, and the orientation from an Exif segment before it.
    @Sendable package static func read(_ bytes: ByteReader) -> ImageHeader? {
        var orientation = ImageOrientation.up
        var offset = 2
        while let (marker, segment, length) = segment(bytes, at: offset) {
            switch marker {
            case 0xE1 where bytes.matches("Exif\0\0", at: segment):
                // The tag can come late in the segment, so the whole segment must have arrived.
                guard segment + length <= bytes.count else { return nil }
                if let exif = bytes.slice(segment + 6, length - 6), let found = TIFFHeader.orientation(exif) {
                    orientation = found
                }
            case 0xC0...0xCF where marker != 0xC4 && marker != 0xC8 && marker != 0xCC:
                guard let height = bytes.uint16BE(segment + 1), let width = bytes.uint16BE(segment + 3) else {
                    return nil
                }
                let size = PixelSize(width: Int(width), height: Int(height))
                var header = ImageHeader(format: .jpeg, storedSize: size, orientation: orientation)
                let isProgressive = marker == 0xC2 || marker == 0xCA
                let hasScans = isProgressive ? true : hasSeveralScans(bytes, frame: segment, after: segment + length)
                header.workingByteCount = hasScans.flatMap {
                    $0 ? coefficientByteCount(bytes, frame: segment, size) : 0
                }
                return header
            case 0xD9, 0xDA:
                return nil
            default:
                break
            }
            offset = segment + length
        }
        return nil
    }

    /// Whether the first scan of a sequential file lacks channels of the frame. Further scans then follow, and a decoder keeps all
    /// coefficients (jpeg_has_multiple_scans of libjpeg). `nil` until the first scan has arrived.
    private static func hasSeveralScans(_ bytes: ByteReader, frame: Int, after start: Int) -> Bool? {
        var offset = start
        while let (marker, segment, length) = segment(bytes, at: offset) {
            if marker == 0xD9 { return false }
            if marker == 0xDA {
                guard let inFrame = bytes.uint8(frame + 5), let inScan = bytes.uint8(segment) else { return nil }
                return inScan < inFrame
            }
            offset = segment + length
        }
        return nil
    }

    /// The bytes of all coefficients: two each, and one coefficient a pixel for a channel that is not subsampled.
    private static func coefficientByteCount(_ bytes: ByteReader, frame: Int, _ size: PixelSize) -> Int? {
        guard let count = bytes.uint8(frame + 5), count > 0, bytes.uint8(frame + 5 + Int(count) * 3) != nil else {
            return nil
        }
        let factors = (0..<Int(count)).map { channel in
            let factor = Int(bytes.uint8(frame + 7 + channel * 3) ?? 0x11)
            return (horizontal: max(factor >> 4, 1), vertical: max(factor & 15, 1))
        }
        let largest = (factors.map(\.horizontal).max() ?? 1) * (factors.map(\.vertical).max() ?? 1)
        let sum = factors.reduce(0) { $0 + $1.horizontal * $1.vertical }
        // Blocks have 8 x 8 coefficients, and the last blocks extend beyond the image.
        let padded = PixelSize(width: (size.width + 7) & ~7, height: (size.height + 7) & ~7)
        return padded.pixelCount.boundedProduct(2 * sum) / largest
    }

    /// The first marker at or after start, the position of its contents, and their length without the length field.
    static func segment(_ bytes: ByteReader, at start: Int) -> (marker: UInt8, contents: Int, length: Int)? {
        // Decoders skip garbage between segments and fill bytes before a marker.
        guard var offset = bytes.firstIndex(of: 0xFF, from: start) else { return nil }
        while bytes.uint8(offset) == 0xFF { offset += 1 }
        guard let marker = bytes.uint8(offset) else { return nil }
        if marker == 0xD9 || marker == 0x00 || marker == 0x01 || (0xD0...0xD8).contains(marker) {
            return (marker, offset + 1, 0)
        }
        guard let length = bytes.uint16BE(offset + 1), length >= 2 else { return nil }
        return (marker, offset + 3, Int(length) - 2)
    }
}
