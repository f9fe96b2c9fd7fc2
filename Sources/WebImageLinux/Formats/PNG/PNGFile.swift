internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// The chunks of a PNG file, and the frames that some have (PNG specification, third edition).
struct PNGFile: Sendable {
    struct Frame: Sendable {
        var layout: FrameLayout
        /// Where its compressed pixels are.
        var parts: [Range<Int>] = []
    }

    private(set) var size = PixelSize(width: 0, height: 0)
    /// Of an animated image.
    private(set) var frames: [Frame] = []
    private(set) var loopCount = 0
    /// The chunks that all frames need, as they are in the file: PLTE and tRNS.
    private(set) var shared: [Range<Int>] = []
    /// Whether it says so before its pixels.
    private(set) var isAnimated = false
    private var hasAlpha = false
    /// Whether there are pixels for those who know no frames.
    private(set) var hasPixels = false
    private var isEnded = false

    /// - Parameters:
    ///   - frameLimit: Further frames are left out.
    ///   - isArriving: Whether there may be more of the last frame to come: it is left out.
    init(_ data: Data, frameLimit: Int, isArriving: Bool = false) {
        data.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            var offset = 8
            var sequence: UInt32 = 0
            while let length = bytes.uint32BE(offset), offset + 12 + Int(length) <= raw.count {
                let end = offset + 12 + Int(length)
                guard read(bytes, raw, offset, Int(length), &sequence), frames.count <= frameLimit else { break }
                offset = end
            }
            if isArriving, !isEnded, !frames.isEmpty, frames.count <= frameLimit { frames.removeLast() }
            // What did not come to its end is not played.
            if frames.count > frameLimit { frames.removeLast(frames.count - frameLimit) }
            while frames.last?.parts.isEmpty == true { frames.removeLast() }
        }
    }

    /// - Returns: Whether to go on.
    private mutating func read(
        _ bytes: ByteReader,
        _ raw: UnsafeRawBufferPointer,
        _ offset: Int,
        _ length: Int,
        _ sequence: inout UInt32
    ) -> Bool {
        let contents = offset + 8
        let name = bytes.uint32BE(offset + 4) ?? 0
        switch name {
        case Name.header:
            guard let width = bytes.uint32BE(contents), let height = bytes.uint32BE(contents + 4),
                let type = bytes.uint8(contents + 9)
            else { return false }
            size = PixelSize(width: Int(width), height: Int(height))
            hasAlpha = type & 4 != 0
        case Name.palette, Name.transparency:
            guard !hasPixels else { break }
            if name == Name.transparency { hasAlpha = true }
            shared.append(offset..<contents + length + 4)
        case Name.animation:
            isAnimated = !hasPixels && bytes.uint32BE(contents).map { $0 > 0 } == true
            loopCount = Int(bytes.uint32BE(contents + 4) ?? 0)
        case Name.frame where isAnimated:
            guard isSound(raw, offset, length), bytes.uint32BE(contents) == sequence,
                let layout = layout(bytes, contents)
            else { return false }
            // One that has no pixels is the end of the animation.
            guard frames.last?.parts.isEmpty != true else { return false }
            sequence += 1
            frames.append(Frame(layout: layout))
        case Name.pixels:
            hasPixels = true
            // Those that come before any frame are for who knows no frames.
            if frames.count == 1 { frames[0].parts.append(contents..<contents + length) }
        case Name.framePixels where isAnimated:
            guard isSound(raw, offset, length), bytes.uint32BE(contents) == sequence, length >= 4, !frames.isEmpty
            else { return false }
            sequence += 1
            frames[frames.count - 1].parts.append(contents + 4..<contents + length)
        case Name.end:
            isEnded = true
            return false
        default:
            break
        }
        return true
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

    private func isSound(_ raw: UnsafeRawBufferPointer, _ offset: Int, _ length: Int) -> Bool {
        let checked = UnsafeRawBufferPointer(rebasing: raw[offset + 4..<offset + 8 + length])
        return gwi_crc32(checked.bindMemory(to: UInt8.self).baseAddress, checked.count)
            == ByteReader(raw).uint32BE(offset + 8 + length)
    }

    /// A file of one frame, with checksums that nobody checks.
    func file(of index: Int, from data: Data) -> Data {
        let frame = frames[index]
        return data.withUnsafeBytes { raw in
            var file = Data(capacity: 100 + frame.parts.reduce(0) { $0 + $1.count + 12 })
            file.append(contentsOf: raw[0..<16])
            file.append(bigEndian: UInt32(frame.layout.rect.size.width))
            file.append(bigEndian: UInt32(frame.layout.rect.size.height))
            file.append(contentsOf: raw[24..<33])
            for chunk in shared { file.append(contentsOf: raw[chunk]) }
            for part in frame.parts {
                file.append(bigEndian: UInt32(part.count))
                file.append(bigEndian: Name.pixels)
                file.append(contentsOf: raw[part])
                file.append(bigEndian: 0)
            }
            file.append(bigEndian: 0)
            file.append(bigEndian: Name.end)
            file.append(bigEndian: 0)
            return file
        }
    }
}

/// The names of chunks, as numbers.
private enum Name {
    static let header = number("IHDR")
    static let palette = number("PLTE")
    static let transparency = number("tRNS")
    static let animation = number("acTL")
    static let frame = number("fcTL")
    static let pixels = number("IDAT")
    static let framePixels = number("fdAT")
    static let end = number("IEND")

    private static func number(_ name: String) -> UInt32 { name.utf8.reduce(0) { $0 << 8 | UInt32($1) } }
}

extension Data {
    fileprivate mutating func append(bigEndian number: UInt32) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
