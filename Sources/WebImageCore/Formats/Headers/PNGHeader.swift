package enum PNGHeader {
    /// Reads the size from IHDR, and the orientation from an eXIf chunk before the first IDAT.
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard bytes.matches("IHDR", at: 12), let width = bytes.uint32BE(16), let height = bytes.uint32BE(20) else {
            return nil
        }
        let size = PixelSize(width: Int(width), height: Int(height))
        var orientation = ImageOrientation.up
        var (isAnimated, hasFrame) = (false, false)
        var chunks = PNGChunks(bytes)
        while let chunk = chunks.next() {
            switch chunk.name {
            case .pixels, .end:
                var header = ImageHeader(format: .png, storedSize: size, orientation: orientation)
                let still = Stream(of: chunk, chunks)
                header.workingByteCount =
                    isAnimated
                    ? animationByteCount(size, still: still, first: hasFrame ? still : Stream(ofFrameIn: chunks))
                    : still.copiedByteCount(size)
                return header
            case .animation:
                isAnimated = true
            case .frame:
                hasFrame = true
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

    /// The decoder keeps a frame besides the canvas, and copies the frame's chunks into a separate file.
    private static func animationByteCount(_ size: PixelSize, still: Stream, first: Stream) -> Int {
        // Until all chunks have arrived, assume the worst case.
        let count = first.isWhole ? first.byteCount : max(first.byteCount, longestStream(size))
        let frame = size.pixelCount.boundedProduct(4).boundedSum(count).boundedSum(min(count, longestStream(size)))
        // If the animation is damaged, the default image is shown.
        return max(frame, still.copiedByteCount(size))
    }

    /// The largest number of compressed bytes that a decoder copies: four bytes a pixel and a filter byte a row, stored by deflate
    /// without compression (longest_stream of png_whole.c).
    static func longestStream(_ size: PixelSize) -> Int {
        let rows = size.pixelCount.boundedProduct(4).boundedSum(size.height)
        return rows.boundedSum(rows / 1000).boundedSum(64 << 10)
    }

    /// The compressed pixels of an image or frame that have arrived.
    private struct Stream {
        private(set) var byteCount = 0
        private var partCount = 0
        /// Whether another chunk follows the pixels.
        private(set) var isWhole = false

        /// - Parameters:
        ///   - first: The first chunk of pixels.
        ///   - rest: The chunks after `first`.
        init(of first: PNGChunks.Chunk, _ rest: PNGChunks) {
            var (rest, next) = (rest, Optional(first))
            while let chunk = next {
                isWhole = chunk.name != .pixels
                guard !isWhole, chunk.isWhole else { return }
                add(chunk.contents.count)
                next = rest.next()
            }
        }

        /// The first frame of an animation that does not include the default image.
        init(ofFrameIn rest: PNGChunks) {
            var hasBegun = false
            for chunk in rest {
                isWhole = chunk.name == .end || chunk.name == .frame && hasBegun
                guard !isWhole, chunk.isWhole else { return }
                if chunk.name == .frame { hasBegun = true }
                if chunk.name == .framePixels, hasBegun { add(max(chunk.contents.count - 4, 0)) }
            }
        }

        private mutating func add(_ count: Int) {
            byteCount += count
            partCount += 1
        }

        /// The bytes that the decoder copies to inflate several chunks in one call.
        func copiedByteCount(_ size: PixelSize) -> Int { partCount < 2 ? 0 : min(byteCount, longestStream(size)) }
    }

    /// Whether the file has an end chunk. Decoders silently leave out the missing rows of a truncated file.
    package static func isComplete(_ bytes: ByteReader) -> Bool {
        PNGChunks(bytes).first { $0.name == .end || !$0.isWhole }?.isWhole == true
    }
}

/// The chunks of a PNG file in order (PNG specification, section 5). The last one may be incomplete.
package struct PNGChunks: Sequence, IteratorProtocol {
    package struct Chunk {
        package let name: Name
        /// The position in the file, from the length to the checksum.
        package let range: Range<Int>
        /// The position of the contents in the file.
        package var contents: Range<Int> { range.lowerBound + 8..<range.upperBound - 4 }
        /// Whether the file contains the entire chunk.
        package let isWhole: Bool
    }

    /// The name of a chunk, as a number.
    package struct Name: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package init(_ name: StaticString) {
            rawValue = name.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
        }

        package static let header = Name("IHDR")
        package static let palette = Name("PLTE")
        package static let transparency = Name("tRNS")
        static let exif = Name("eXIf")
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
