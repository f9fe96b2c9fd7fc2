/// The logical screen of a GIF file and its first image (GIF89a specification, sections 18 and 20).
package enum GIFHeader {
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard let width = bytes.uint16LE(6), let height = bytes.uint16LE(8), let flags = bytes.uint8(10) else {
            return nil
        }
        let screen = PixelSize(width: Int(width), height: Int(height))
        var offset = 13 + (flags & 0x80 != 0 ? 3 * (2 << Int(flags & 7)) : 0)
        while let kind = bytes.uint8(offset) {
            if kind == 0x2C {
                guard let width = bytes.uint16LE(offset + 5), let height = bytes.uint16LE(offset + 7) else {
                    return nil
                }
                let first = PixelSize(width: Int(width), height: Int(height))
                return ImageHeader(format: .gif, storedSize: size(screen, first: first))
            }
            guard kind == 0x21 else { return ImageHeader(format: .gif, storedSize: screen) }
            guard let end = endOfBlocks(bytes, offset + 2) else { return nil }
            offset = end
        }
        return nil
    }

    /// The size of the canvas. As in browsers, it covers at least the first image.
    package static func size(_ screen: PixelSize, first: PixelSize) -> PixelSize {
        PixelSize(width: max(screen.width, first.width), height: max(screen.height, first.height))
    }

    /// The end of a sequence of sub-blocks, the last of which is empty; `nil` until the end has arrived.
    package static func endOfBlocks(_ bytes: ByteReader, _ start: Int) -> Int? {
        var offset = start
        while let length = bytes.uint8(offset) {
            offset += 1 + Int(length)
            if length == 0 { return offset }
        }
        return nil
    }
}

/// BITMAPCOREHEADER or BITMAPINFOHEADER of a BMP file.
enum BMPHeader {
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        // In a bitmap array of OS/2, 14 bytes precede the first bitmap.
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
