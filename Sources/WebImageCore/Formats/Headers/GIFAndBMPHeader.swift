/// The logical screen of a GIF file (GIF89a specification, section 18).
enum GIFHeader {
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard let width = bytes.uint16LE(6), let height = bytes.uint16LE(8) else { return nil }
        return ImageHeader(format: .gif, storedSize: PixelSize(width: Int(width), height: Int(height)))
    }
}

/// BITMAPCOREHEADER or BITMAPINFOHEADER of a BMP file.
enum BMPHeader {
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        // A bitmap array of OS/2 has a header of 14 bytes in front of its first bitmap.
        let start = bytes.matches("BA", at: 0) ? 28 : 14
        guard let headerSize = bytes.uint32LE(start) else { return nil }
        if headerSize == 12 {
            guard let width = bytes.uint16LE(start + 4), let height = bytes.uint16LE(start + 6) else { return nil }
            return ImageHeader(format: .bmp, storedSize: PixelSize(width: Int(width), height: Int(height)))
        }
        guard let width = bytes.uint32LE(start + 4), let height = bytes.uint32LE(start + 8) else { return nil }
        // A negative height means that the rows are stored from the top.
        let size = PixelSize(
            width: Int(Int32(bitPattern: width).magnitude),
            height: Int(Int32(bitPattern: height).magnitude)
        )
        return ImageHeader(format: .bmp, storedSize: size)
    }
}
