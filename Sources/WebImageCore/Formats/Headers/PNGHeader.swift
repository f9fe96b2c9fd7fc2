/// The chunks of a PNG file (PNG specification, section 5).
package enum PNGHeader {
    /// The size from IHDR, and the orientation from an eXIf chunk before the first IDAT.
    static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard bytes.matches("IHDR", at: 12), let width = bytes.uint32BE(16), let height = bytes.uint32BE(20) else {
            return nil
        }
        let size = PixelSize(width: Int(width), height: Int(height))
        var offset = 8
        while let length = bytes.uint32BE(offset), bytes.count >= offset + 8 {
            let contents = offset + 8
            if bytes.matches("IDAT", at: offset + 4) || bytes.matches("IEND", at: offset + 4) {
                return ImageHeader(format: .png, storedSize: size)
            }
            if bytes.matches("eXIf", at: offset + 4) {
                guard contents + Int(length) <= bytes.count else { return nil }
                let orientation = bytes.slice(contents, Int(length)).flatMap(TIFFHeader.orientation) ?? .up
                return ImageHeader(format: .png, storedSize: size, orientation: orientation)
            }
            offset = contents + Int(length) + 4
        }
        return nil
    }

    /// Whether the file goes on to its end chunk. Decoders leave out the rows that are missing, and say nothing.
    package static func isComplete(_ bytes: ByteReader) -> Bool {
        var offset = 8
        while let length = bytes.uint32BE(offset) {
            let end = offset + 12 + Int(length)
            guard end <= bytes.count else { return false }
            if bytes.matches("IEND", at: offset + 4) { return true }
            offset = end
        }
        return false
    }
}
