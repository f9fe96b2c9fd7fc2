/// The header of a PNG file: the chunks before its pixels.
package enum PNGHeader {
    /// Reads the size from IHDR, and the orientation from an eXIf chunk before the first IDAT.
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard bytes.matches("IHDR", at: 12), let width = bytes.uint32BE(16), let height = bytes.uint32BE(20) else {
            return nil
        }
        let size = PixelSize(width: Int(width), height: Int(height))
        var orientation = ImageOrientation.up
        var isAnimated = false
        for chunk in PNGChunks(bytes) {
            switch chunk.name {
            case .pixels, .end:
                var header = ImageHeader(format: .png, storedSize: size, orientation: orientation)
                // A frame is decoded beside the canvas, which is then copied.
                if isAnimated { header.workingByteCount = size.pixelCount.boundedProduct(4) }
                return header
            case .animation:
                isAnimated = true
            case .exif:
                guard chunk.contents.upperBound <= bytes.count else { return nil }
                let exif = bytes.slice(chunk.contents.lowerBound, chunk.contents.count)
                orientation = exif.flatMap(TIFFHeader.orientation) ?? .up
            default:
                continue
            }
        }
        return nil
    }

    /// Whether the file has an end chunk. Decoders leave out the missing rows of a truncated file and report nothing.
    package static func isComplete(_ bytes: ByteReader) -> Bool {
        PNGChunks(bytes).first { $0.name == .end || !$0.isWhole }?.isWhole == true
    }
}

/// The chunks of a PNG file in order (PNG specification, section 5). The last one may be incomplete.
package struct PNGChunks: Sequence, IteratorProtocol {
    package struct Chunk {
        package let name: Name
        /// The position of the chunk in the file, from its length to its checksum.
        package let range: Range<Int>
        /// The position of its contents in the file.
        package var contents: Range<Int> { range.lowerBound + 8..<range.upperBound - 4 }
        /// Whether the file holds all of the chunk.
        package let isWhole: Bool
    }

    /// The name of a chunk, as a number.
    package struct Name: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        private init(_ name: StaticString) {
            rawValue = name.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
        }

        package static let header = Name("IHDR")
        package static let palette = Name("PLTE")
        package static let transparency = Name("tRNS")
        package static let exif = Name("eXIf")
        package static let animation = Name("acTL")
        package static let frame = Name("fcTL")
        package static let pixels = Name("IDAT")
        package static let framePixels = Name("fdAT")
        package static let end = Name("IEND")
    }

    private let bytes: ByteReader
    private var offset = 8

    package init(_ bytes: ByteReader) {
        self.bytes = bytes
    }

    package mutating func next() -> Chunk? {
        guard let length = bytes.uint32BE(offset), let name = bytes.uint32BE(offset + 4) else { return nil }
        let start = offset
        offset += 12 + Int(length)
        return Chunk(name: Name(rawValue: name), range: start..<offset, isWhole: offset <= bytes.count)
    }
}
