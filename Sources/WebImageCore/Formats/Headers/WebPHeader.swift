/// The chunks of a WebP file (RFC 9649).
enum WebPHeader {
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        if bytes.matches("VP8X", at: 12) { return extended(bytes) }
        if bytes.matches("VP8 ", at: 12) { return lossy(bytes, at: 20) }
        if bytes.matches("VP8L", at: 12) { return lossless(bytes, at: 20) }
        return nil
    }

    private static func extended(_ bytes: ByteReader) -> ImageHeader? {
        guard let flags = bytes.uint8(20), let width = bytes.uint24LE(24), let height = bytes.uint24LE(27) else {
            return nil
        }
        let size = PixelSize(width: Int(width) + 1, height: Int(height) + 1)
        let hasExif = flags & 0x08 != 0
        let orientation = hasExif ? exifOrientation(bytes) : .up
        var header = ImageHeader(format: .webp, storedSize: size, orientation: orientation)
        header.workingByteCount = workingBytesPerPixel(bytes).map { size.pixelCount.boundedProduct($0) }
        return header
    }

    /// The bytes a pixel that libwebp needs for an extended file, besides its output; `nil` until a chunk with pixels has arrived.
    private static func workingBytesPerPixel(_ bytes: ByteReader) -> Int? {
        var offset = 12
        while let length = bytes.uint32LE(offset + 4) {
            if bytes.matches("VP8 ", at: offset) { return 0 }
            if bytes.matches("VP8L", at: offset) { return losslessBytesPerPixel }
            // The alpha plane is decoded as a separate lossless image.
            if bytes.matches("ALPH", at: offset) { return losslessBytesPerPixel + 1 }
            // libwebp keeps a frame besides the canvas, which is then copied.
            if bytes.matches("ANMF", at: offset) { return losslessBytesPerPixel + 4 }
            offset += 8 + Int(length) + Int(length & 1)
        }
        return nil
    }

    /// libwebp decodes an entire lossless image before it converts pixels.
    private static let losslessBytesPerPixel = 4

    /// The orientation from the EXIF chunk, which follows the pixels; upright until the chunk has arrived.
    private static func exifOrientation(_ bytes: ByteReader) -> ImageOrientation {
        var offset = 12
        while let length = bytes.uint32LE(offset + 4) {
            if bytes.matches("EXIF", at: offset) {
                // Some writers include the six bytes that precede Exif data in a JPEG.
                let prefix = bytes.matches("Exif\0\0", at: offset + 8) ? 6 : 0
                guard Int(length) > prefix else { return .up }
                return bytes.slice(offset + 8 + prefix, Int(length) - prefix).flatMap(TIFFHeader.orientation) ?? .up
            }
            offset += 8 + Int(length) + Int(length & 1)
        }
        return .up
    }

    /// RFC 6386, section 9.1: three bytes of frame tag, the start code, 14 bits of width and of height.
    private static func lossy(_ bytes: ByteReader, at offset: Int) -> ImageHeader? {
        guard bytes.matches([0x9D, 0x01, 0x2A], at: offset + 3), let width = bytes.uint16LE(offset + 6),
            let height = bytes.uint16LE(offset + 8)
        else { return nil }
        let size = PixelSize(width: Int(width & 0x3FFF), height: Int(height & 0x3FFF))
        return ImageHeader(format: .webp, storedSize: size)
    }

    /// RFC 9649, section 3.4: a signature byte, then 14 bits of width and of height, both less one.
    private static func lossless(_ bytes: ByteReader, at offset: Int) -> ImageHeader? {
        guard bytes.uint8(offset) == 0x2F, let bits = bytes.uint32LE(offset + 1) else { return nil }
        let size = PixelSize(width: Int(bits & 0x3FFF) + 1, height: Int(bits >> 14 & 0x3FFF) + 1)
        var header = ImageHeader(format: .webp, storedSize: size)
        header.workingByteCount = size.pixelCount.boundedProduct(losslessBytesPerPixel)
        return header
    }
}
