/// The marker segments of a JPEG file (ITU-T T.81, annex B).
package enum JPEGHeader {
    /// The size from the frame header, and the orientation from an Exif segment before it.
    static func read(_ bytes: ByteReader) -> ImageHeader? {
        var orientation = ImageOrientation.up
        var offset = 2
        while let (marker, segment, length) = segment(bytes, at: offset) {
            switch marker {
            case 0xE1 where bytes.matches("Exif\0\0", at: segment):
                // All of it, or none: the tag may come late in the segment.
                guard segment + length <= bytes.count else { return nil }
                if let exif = bytes.slice(segment + 6, length - 6), let found = TIFFHeader.orientation(exif) {
                    orientation = found
                }
            case 0xC0...0xCF where marker != 0xC4 && marker != 0xC8 && marker != 0xCC:
                guard let height = bytes.uint16BE(segment + 1), let width = bytes.uint16BE(segment + 3) else {
                    return nil
                }
                let size = PixelSize(width: Int(width), height: Int(height))
                return ImageHeader(format: .jpeg, storedSize: size, orientation: orientation)
            case 0xD9, 0xDA:
                return nil
            default:
                break
            }
            offset = segment + length
        }
        return nil
    }

    /// Calls body with the marker, the start and the length of each segment before the first scan.
    static func forEachSegmentBeforeScan(_ bytes: ByteReader, _ body: (UInt8, Int, Int) -> Void) {
        var offset = 2
        while let (marker, contents, length) = segment(bytes, at: offset), marker != 0xDA, marker != 0xD9 {
            body(marker, contents, length)
            offset = contents + length
        }
    }

    /// Whether the file goes on to its end marker. Decoders fill in grey for what is missing, and say nothing.
    package static func isComplete(_ bytes: ByteReader) -> Bool {
        // So nearly all of them end, and none that was cut off does, but by an accident that costs nothing.
        if bytes.count > 4, bytes.matches([0xFF, 0xD9], at: bytes.count - 2) { return true }
        var offset = 2
        while let (marker, segment, length) = segment(bytes, at: offset) {
            if marker == 0xD9 { return true }
            offset = segment + length
            if marker == 0xDA { offset = endOfScan(bytes, from: offset) }
        }
        return false
    }

    /// The marker at offset, where its contents begin, and how long they are without the length itself.
    private static func segment(_ bytes: ByteReader, at start: Int) -> (marker: UInt8, contents: Int, length: Int)? {
        // Rubbish between segments and fill bytes before a marker are skipped, as every decoder does.
        guard var offset = bytes.firstIndex(of: 0xFF, from: start) else { return nil }
        while bytes.uint8(offset) == 0xFF { offset += 1 }
        guard let marker = bytes.uint8(offset) else { return nil }
        if marker == 0xD9 || marker == 0x00 || marker == 0x01 || (0xD0...0xD8).contains(marker) {
            return (marker, offset + 1, 0)
        }
        guard let length = bytes.uint16BE(offset + 1), length >= 2 else { return nil }
        return (marker, offset + 3, Int(length) - 2)
    }

    /// Past the entropy-coded data: the next marker that is neither a stuffed zero nor a restart.
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
