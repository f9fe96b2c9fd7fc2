/// The boxes of AVIF and HEIF files (ISO/IEC 14496-12, and 23008-12 for the properties of images).
package enum BoxHeader {
    /// The maximum number of boxes to read; real files have dozens.
    private static let boxLimit = 10_000

    @Sendable static func readAVIF(_ bytes: ByteReader) -> ImageHeader? { read(bytes, .avif) }

    @Sendable static func readHEIF(_ bytes: ByteReader) -> ImageHeader? { read(bytes, .heif) }

    /// Reads the size of the largest image or track: tiles, thumbnails and depth maps are smaller than the main image, and loaders
    /// prefer a track. There is no orientation, because the loaders turn the pixels themselves.
    private static func read(_ bytes: ByteReader, _ format: ImageFormat) -> ImageHeader? {
        var largest: PixelSize?
        var (isDeep, isFull) = (false, false)
        func add(_ width: Int?, _ height: Int?) -> Bool {
            guard let width, let height else { return false }
            let size = PixelSize(width: width, height: height)
            if size.pixelCount > largest?.pixelCount ?? -1 { largest = size }
            return true
        }
        func addAV1(_ configuration: ByteReader) {
            // The bits are high_bitdepth, monochrome and the subsampling of the AV1 codec's configuration.
            let bits = configuration.uint8(2) ?? 0x0C
            (isDeep, isFull) = (isDeep || bits & 0x40 != 0, isFull || bits & 0x1C == 0)
        }
        for (name, contents) in boxes(in: bytes).flatMap({ properties(of: $0.name, $0.contents) }) {
            switch name {
            case "ispe":
                guard add(contents.uint32BE(4).map(Int.init), contents.uint32BE(8).map(Int.init)) else { return nil }
            case "pixi":
                isDeep = isDeep || contents.uint8(5) ?? 8 > 8
            case "av1C":
                addAV1(contents)
            case "hvcC":
                // The bits are chroma_format_idc (ISO/IEC 14496-15, 8.3.3.1.2).
                isFull = isFull || contents.uint8(16).map { $0 & 3 == 3 } ?? false
            case "tkhd":
                // Width and height are the last fields, in 16.16 fixed point. Audio tracks have 0.
                _ = add(
                    contents.uint16BE(contents.count - 8).map(Int.init),
                    contents.uint16BE(contents.count - 4).map(Int.init)
                )
            case "stsd":
                // The descriptions of the samples follow eight bytes.
                for sample in contents.slice(8, contents.count - 8).map(boxes(in:)) ?? [] {
                    _ = add(
                        sample.contents.uint16BE(24).map(Int.init),
                        sample.contents.uint16BE(26).map(Int.init)
                    )
                    // The boxes follow a visual sample entry of 78 bytes.
                    let inner = sample.contents.slice(78, sample.contents.count - 78)
                    if let configuration = inner.flatMap({ child("av1C", of: $0) }) { addAV1(configuration) }
                }
            default:
                break
            }
        }
        guard let largest, !largest.isEmpty else { return nil }
        var header = ImageHeader(format: format, storedSize: largest)
        // Decoders keep planes with one or two bytes a sample, and a copy of them as pixels.
        header.workingByteCount = largest.pixelCount.boundedProduct(isDeep ? (isFull ? 26 : 18) : isFull ? 14 : 10)
        return header
    }

    /// The boxes that contain sizes and depths, within a top-level box.
    private static func properties(of name: String, _ contents: ByteReader) -> [(name: String, contents: ByteReader)] {
        switch name {
        case "meta":
            // The box begins with its version and flags.
            let items = contents.slice(4, contents.count - 4)
            let container = items.flatMap { child("iprp", of: $0) }.flatMap { child("ipco", of: $0) }
            return container.map(boxes(in:)) ?? []
        case "moov":
            return boxes(in: contents).filter { $0.name == "trak" }.flatMap { track in
                let samples = ["mdia", "minf", "stbl", "stsd"].reduce(Optional(track.contents)) { parent, name in
                    parent.flatMap { child(name, of: $0) }
                }
                return [("tkhd", child("tkhd", of: track.contents)), ("stsd", samples)].compactMap { name, contents in
                    contents.map { (name, $0) }
                }
            }
        default:
            return []
        }
    }

    package static func child(_ name: String, of parent: ByteReader) -> ByteReader? {
        boxes(in: parent).first { $0.name == name }?.contents
    }

    /// The complete boxes in a sequence of boxes.
    package static func boxes(in bytes: ByteReader) -> [(name: String, contents: ByteReader)] {
        var boxes: [(name: String, contents: ByteReader)] = []
        var offset = 0
        while boxes.count < boxLimit, var length = bytes.uint32BE(offset).map(Int.init),
            let name = bytes.slice(offset + 4, 4)
        {
            var start = 8
            if length == 1 {
                // A 64-bit length follows. No real file needs more than 32 bits.
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
