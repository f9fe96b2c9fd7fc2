/// The boxes of AVIF and HEIF files (ISO/IEC 14496-12, and 23008-12 for the properties of images).
enum BoxHeader {
    /// How many boxes are looked at: real files have some dozens.
    private static let boxLimit = 10_000

    @Sendable static func readAVIF(_ bytes: ByteReader) -> ImageHeader? { read(bytes, .avif) }

    @Sendable static func readHEIF(_ bytes: ByteReader) -> ImageHeader? { read(bytes, .heif) }

    /// Reads the size of the largest image: the main one, of which tiles, thumbnails and depth maps are parts or copies. The
    /// loaders turn the pixels themselves, so there is no orientation.
    private static func read(_ bytes: ByteReader, _ format: ImageFormat) -> ImageHeader? {
        // A meta box begins with its version and flags.
        guard let meta = boxes(in: bytes).first(where: { $0.name == "meta" })?.contents,
            let items = meta.slice(4, meta.count), let properties = child("iprp", of: items),
            let container = child("ipco", of: properties)
        else { return nil }
        var largest: PixelSize?
        var isDeep = false
        for (name, contents) in boxes(in: container) {
            switch name {
            case "ispe":
                guard let width = contents.uint32BE(4), let height = contents.uint32BE(8) else { return nil }
                let size = PixelSize(width: Int(width), height: Int(height))
                if size.pixelCount > largest?.pixelCount ?? -1 { largest = size }
            case "pixi":
                isDeep = isDeep || contents.uint8(5) ?? 8 > 8
            case "av1C":
                // The bit is high_bitdepth of the AV1 codec's configuration.
                isDeep = isDeep || contents.uint8(2).map { $0 & 0x40 != 0 } ?? false
            default:
                break
            }
        }
        guard let largest else { return nil }
        var header = ImageHeader(format: format, storedSize: largest)
        // Planes of luma, chroma and alpha, of which decoders keep a copy, in one byte or two.
        header.workingByteCount = largest.pixelCount.boundedProduct(isDeep ? 8 : 4)
        return header
    }

    private static func child(_ name: String, of parent: ByteReader) -> ByteReader? {
        boxes(in: parent).first { $0.name == name }?.contents
    }

    /// The boxes that lie next to each other, as far as they are there whole.
    private static func boxes(in bytes: ByteReader) -> [(name: String, contents: ByteReader)] {
        var boxes: [(name: String, contents: ByteReader)] = []
        var offset = 0
        while boxes.count < boxLimit, var length = bytes.uint32BE(offset).map(Int.init),
            let name = bytes.slice(offset + 4, 4)
        {
            var start = 8
            if length == 1 {
                // A length of 64 bits follows. Files are shorter.
                guard bytes.uint32BE(offset + 8) == 0, let long = bytes.uint32BE(offset + 12) else { break }
                (length, start) = (Int(long), 16)
            } else if length == 0 {
                length = bytes.count - offset
            }
            guard length >= start, let contents = bytes.slice(offset + start, length - start),
                contents.count == length - start
            else { break }
            boxes.append((String(decoding: name.bytes, as: UTF8.self), contents))
            offset += length
        }
        return boxes
    }
}
