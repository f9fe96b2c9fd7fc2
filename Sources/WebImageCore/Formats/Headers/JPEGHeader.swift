/// The marker segments of a JPEG file (ITU-T T.81, annex B).
package enum JPEGHeader {
    /// Reads the size from the frame header, and the orientation from an Exif segment before it.
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
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
                header.keepsCoefficients = marker == 0xC2 || marker == 0xCA
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

    /// Whether the file has an end marker. Decoders fill the missing part of a truncated file with grey and report
    /// nothing.
    package static func isComplete(_ bytes: ByteReader) -> Bool {
        // Nearly every whole file ends so. A truncated one does by an accident, which does no harm.
        if bytes.count > 4, bytes.matches([0xFF, 0xD9], at: bytes.count - 2) { return true }
        var offset = 2
        while let (marker, segment, length) = segment(bytes, at: offset) {
            if marker == 0xD9 { return true }
            offset = segment + length
            if marker == 0xDA { offset = endOfScan(bytes, from: offset) }
        }
        return false
    }

    /// The first marker at or after start, the position of its contents, and their length without the length field.
    private static func segment(_ bytes: ByteReader, at start: Int) -> (marker: UInt8, contents: Int, length: Int)? {
        // Decoders skip garbage between segments, and fill bytes before a marker.
        guard var offset = bytes.firstIndex(of: 0xFF, from: start) else { return nil }
        while bytes.uint8(offset) == 0xFF { offset += 1 }
        guard let marker = bytes.uint8(offset) else { return nil }
        if marker == 0xD9 || marker == 0x00 || marker == 0x01 || (0xD0...0xD8).contains(marker) {
            return (marker, offset + 1, 0)
        }
        guard let length = bytes.uint16BE(offset + 1), length >= 2 else { return nil }
        return (marker, offset + 3, Int(length) - 2)
    }

    /// The end of entropy-coded data: the position of the next marker that is neither a stuffed zero nor a restart.
    private static func endOfScan(_ bytes: ByteReader, from start: Int) -> Int {
        var offset = start
        while let found = bytes.firstIndex(of: 0xFF, from: offset) {
            guard let next = bytes.uint8(found + 1) else { return bytes.count }
            if next != 0x00, next != 0xFF, !(0xD0...0xD7).contains(next) { return found }
            offset = found + (next == 0xFF ? 1 : 2)
        }
        return bytes.count
    }
}
