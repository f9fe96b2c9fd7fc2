internal import CWebImageDeflate
import FoundationEssentials
import WebImageCore

/// The chunks of a PNG file, with the frames of an animated one (PNG specification, third edition).
struct PNGFile: Sendable {
    struct Frame: Sendable {
        var layout: FrameLayout
        /// The positions of the compressed pixels in the file.
        var parts: [Range<Int>] = []
    }

    private(set) var size = PixelSize(width: 0, height: 0)
    /// The frames of an animated image.
    private(set) var frames: [Frame] = []
    private(set) var loopCount = 0
    /// The positions of the chunks that every frame needs: PLTE and tRNS.
    private(set) var shared: [Range<Int>] = []
    /// Whether an acTL chunk comes before the pixels.
    private(set) var isAnimated = false
    private var hasAlpha = false
    /// Whether there is a default image.
    private(set) var hasPixels = false
    /// Whether the default image is the first frame. Otherwise only decoders without animation support show it.
    private(set) var showsDefaultImage = false
    private var isEnded = false
    /// Whether the file ends in the middle of a chunk or before its end chunk.
    private(set) var isTruncated = false

    /// - Parameters:
    ///   - frameLimit: The number of frames to read.
    ///   - isArriving: Whether the file is still arriving. Its last frame may then be incomplete and is left out.
    init(_ data: Data, frameLimit: Int, isArriving: Bool = false) {
        data.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            isAnimated = Self.hasAnimation(bytes)
            var sequence: UInt32 = 0
            var isStopped = false
            for chunk in PNGChunks(bytes) {
                guard chunk.isWhole else { break }
                isStopped = !read(chunk, bytes, &sequence) || frames.count > frameLimit
                if isStopped { break }
            }
            isTruncated = !isStopped
            if isArriving, !isEnded, !frames.isEmpty, frames.count <= frameLimit { frames.removeLast() }
            if frames.count > frameLimit { frames.removeLast(frames.count - frameLimit) }
            // The chunk tRNS may follow the control chunk of the first frame.
            for index in frames.indices { frames[index].layout.hasAlpha = hasAlpha }
            // A frame without pixels was cut off.
            while frames.last?.parts.isEmpty == true { frames.removeLast() }
        }
    }

    /// - Returns: Whether to read the next chunk.
    private mutating func read(_ chunk: PNGChunks.Chunk, _ bytes: ByteReader, _ sequence: inout UInt32) -> Bool {
        let contents = chunk.contents.lowerBound
        switch chunk.name {
        case .header:
            // A second header would change the canvas after the frames were checked against it.
            guard chunk.range.lowerBound == 8, let width = bytes.uint32BE(contents),
                let height = bytes.uint32BE(contents + 4),
                let type = bytes.uint8(contents + 9)
            else { return false }
            size = PixelSize(width: Int(width), height: Int(height))
            hasAlpha = type & 4 != 0
        case .palette, .transparency:
            guard !hasPixels else { break }
            if chunk.name == .transparency { hasAlpha = true }
            shared.append(chunk.range)
        case .animation:
            loopCount = Int(bytes.uint32BE(contents + 4) ?? 0)
        case .frame where isAnimated:
            guard Self.hasValidChecksum(chunk, bytes), bytes.uint32BE(contents) == sequence,
                let layout = layout(bytes, contents)
            else { return false }
            // A frame without pixels ends the animation.
            guard frames.last?.parts.isEmpty != true else { return false }
            sequence += 1
            if !hasPixels { showsDefaultImage = true }
            frames.append(Frame(layout: layout))
        case .pixels:
            hasPixels = true
            // Pixels before the first frame are the default image, which is not part of the animation.
            if frames.count == 1 { frames[0].parts.append(chunk.contents) }
        case .framePixels where isAnimated:
            guard Self.hasValidChecksum(chunk, bytes), bytes.uint32BE(contents) == sequence, chunk.contents.count >= 4,
                !frames.isEmpty
            else { return false }
            sequence += 1
            frames[frames.count - 1].parts.append(contents + 4..<chunk.contents.upperBound)
        case .end:
            isEnded = true
            return false
        default:
            break
        }
        return true
    }

    /// Whether an acTL chunk with a valid number of frames comes before the pixels. The first frame may come before it.
    private static func hasAnimation(_ bytes: ByteReader) -> Bool {
        for chunk in PNGChunks(bytes) where chunk.name == .animation || chunk.name == .pixels {
            guard chunk.name == .animation, chunk.isWhole else { return false }
            // PNG numbers end at 2^31 - 1 (section 7.1).
            if let count = bytes.uint32BE(chunk.contents.lowerBound), (1..<1 << 31).contains(count) { return true }
        }
        return false
    }

    private func layout(_ bytes: ByteReader, _ contents: Int) -> FrameLayout? {
        guard let width = bytes.uint32BE(contents + 4), let height = bytes.uint32BE(contents + 8),
            let x = bytes.uint32BE(contents + 12), let y = bytes.uint32BE(contents + 16),
            let numerator = bytes.uint16BE(contents + 20), let denominator = bytes.uint16BE(contents + 22),
            let disposal = bytes.uint8(contents + 24), let blending = bytes.uint8(contents + 25)
        else { return nil }
        let rect = PixelRect(x: Int(x), y: Int(y), width: Int(width), height: Int(height))
        guard rect.isInside(size), disposal <= 2, blending <= 1 else { return nil }
        return FrameLayout(
            rect: rect,
            duration: .seconds(Double(numerator) / Double(denominator == 0 ? 100 : denominator)),
            disposal: [.keep, .clear, .restore][Int(disposal)],
            isBlended: blending == 1,
            hasAlpha: hasAlpha
        )
    }

    static func hasValidChecksum(_ chunk: PNGChunks.Chunk, _ bytes: ByteReader) -> Bool {
        // The checksum covers the name and the contents.
        let checked = bytes.slice(chunk.range.lowerBound + 4, chunk.contents.count + 4)
        return checked.map { libdeflate_crc32(0, $0.bytes.baseAddress, $0.count) }
            == bytes.uint32BE(chunk.contents.upperBound)
    }

    /// A PNG file with one frame. The checksums of its pixels are 0, since the reader ignores them.
    func file(of index: Int, from data: Data) -> Data {
        let frame = frames[index]
        return data.withUnsafeBytes { raw in
            var file = Data(capacity: 100 + frame.parts.reduce(0) { $0 + $1.count + 12 })
            file.append(contentsOf: raw[0..<16])
            file.append(bigEndian: UInt32(frame.layout.rect.size.width))
            file.append(bigEndian: UInt32(frame.layout.rect.size.height))
            file.append(contentsOf: raw[24..<29])
            file.append(bigEndian: file.withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress! + 12, 17) })
            for chunk in shared { file.append(contentsOf: raw[chunk]) }
            for part in frame.parts {
                file.append(bigEndian: UInt32(part.count))
                file.append(bigEndian: PNGChunks.Name.pixels.rawValue)
                file.append(contentsOf: raw[part])
                file.append(bigEndian: 0)
            }
            return file
        }
    }
}

extension Data {
    package mutating func append(bigEndian number: UInt32) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
