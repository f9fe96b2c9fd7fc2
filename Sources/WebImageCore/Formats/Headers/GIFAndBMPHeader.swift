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
        guard let headerSize = bytes.uint32LE(14) else { return nil }
        if headerSize == 12 {
            guard let width = bytes.uint16LE(18), let height = bytes.uint16LE(20) else { return nil }
            return ImageHeader(format: .bmp, storedSize: PixelSize(width: Int(width), height: Int(height)))
        }
        guard let width = bytes.uint32LE(18), let height = bytes.uint32LE(22) else { return nil }
        // A negative height means that the rows are stored from the top.
        let size = PixelSize(
            width: Int(Int32(bitPattern: width).magnitude),
            height: Int(Int32(bitPattern: height).magnitude)
        )
        return ImageHeader(format: .bmp, storedSize: size)
    }
}
