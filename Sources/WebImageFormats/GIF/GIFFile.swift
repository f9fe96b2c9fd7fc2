import FoundationEssentials
import WebImageCore

/// The blocks of a GIF file that have arrived (GIF89a specification).
struct GIFFile: Sendable {
    struct Frame: Sendable {
        /// The rectangle in the file, which may exceed the screen.
        let rect: PixelRect
        let isInterlaced: Bool
        /// The position and number of the colors, three bytes each.
        let colorTable: (offset: Int, count: Int)?
        let transparentColor: UInt8?
        let duration: Duration
        let disposal: FrameLayout.Disposal
        /// The number of bits of a color index.
        let literalBits: Int
        /// The position of `literalBits`. The blocks follow it.
        let offset: Int
        /// Whether all blocks of the frame have arrived.
        let isComplete: Bool
    }

    private(set) var size = PixelSize(width: 0, height: 0)
    private(set) var frames: [Frame] = []
    /// The number of loops; 0 means endless.
    private(set) var loopCount = 1
    private var isLooped = false

    /// Whether the file ends right before or after the descriptor of its only image, without pixels. Web pages use such files as
    /// the smallest transparent images.
    private(set) var isBare = false
    /// Whether the file is animated and ends in the middle of a block or before its other frames.
    private(set) var isTruncated = false

    /// - Parameter frameLimit: The number of frames to read.
    init?(_ data: Data, frameLimit: Int) {
        let isRead = data.withUnsafeBytes { read(ByteReader($0), frameLimit) }
        guard isRead else { return nil }
    }

    /// Reads frames until the end of the file or a damaged block.
    private mutating func read(_ bytes: ByteReader, _ frameLimit: Int) -> Bool {
        guard let width = bytes.uint16LE(6), let height = bytes.uint16LE(8), let flags = bytes.uint8(10) else {
            return false
        }
        size = PixelSize(width: Int(width), height: Int(height))
        let globalCount = flags & 0x80 != 0 ? 2 << Int(flags & 7) : 0
        let globalTable = globalCount > 0 ? (offset: 13, count: globalCount) : nil
        var offset = 13 + globalCount * 3
        var control = GraphicControl()
        // Whether a block of another frame has begun after the last one.
        var hasFollower = false
        // Whether the file ends within a block.
        var isCut = false
        while let kind = bytes.uint8(offset), frames.count < frameLimit {
            hasFollower = kind == 0x2C || kind == 0x21 && bytes.uint8(offset + 1) == 0xF9 || hasFollower
            if kind == 0x21 {
                control.read(bytes, offset)
                readLoopCount(bytes, offset)
                guard let end = GIFHeader.endOfBlocks(bytes, offset + 2) else {
                    isCut = true
                    break
                }
                offset = end
            } else if kind == 0x2C {
                guard let frame = Self.frame(bytes, offset, globalTable, control) else {
                    isBare = offset == 13 + globalCount * 3 && [1, 10].contains(bytes.count - offset)
                    isCut = true
                    break
                }
                // An incomplete frame is not part of the animation.
                if frame.isComplete || frames.isEmpty { frames.append(frame) }
                control = GraphicControl()
                // The block is the incomplete first frame itself, and not another frame.
                if frames.first?.isComplete == false { hasFollower = false }
                guard frame.isComplete, let end = GIFHeader.endOfBlocks(bytes, frame.offset + 1) else {
                    isCut = true
                    break
                }
                offset = end
                hasFollower = false
            } else {
                break
            }
        }
        isTruncated =
            frames.count < frameLimit
            && lacksSomething(isCut: isCut, isEnded: bytes.uint8(offset) != nil, hasFollower: hasFollower)
        if let first = frames.first { size = GIFHeader.size(size, first: first.rect.size) }
        return true
    }

    /// Throws if a frame extends so far beyond the screen that unpacking it makes no sense: the limits of pixels and memory apply
    /// to the screen.
    func check(_ frame: Frame, _ options: DecodeOptions) throws(ImageError) {
        // Memory is reserved for the screen only.
        try options.checkLimits(frame.rect.size)
        let limit = max(size.pixelCount.boundedProduct(4), 1 << 22)
        guard frame.rect.size.pixelCount <= limit else {
            throw options.badData("A frame of the GIF has \(frame.rect.size) pixels, far more than its screen")
        }
    }

    /// Whether a part of an animation is missing. Many files lack only their trailer, so a file that ends after a frame is
    /// complete.
    /// - Parameters:
    ///   - isCut: Whether the file ends within a block.
    ///   - isEnded: Whether data follows the last block, such as the trailer.
    ///   - hasFollower: Whether a block of another frame has begun.
    private func lacksSomething(isCut: Bool, isEnded: Bool, hasFollower: Bool) -> Bool {
        if hasFollower { return isCut || !isEnded }
        // Data after a still image is irrelevant.
        return isCut && (frames.count > 1 || isLooped || frames.first.map { $0.duration > .zero } == true)
    }

    /// The Netscape looping extension (NETSCAPE2.0 or ANIMEXTS1.0); sub-block 1 holds the loop count.
    private mutating func readLoopCount(_ bytes: ByteReader, _ offset: Int) {
        guard bytes.uint8(offset + 1) == 0xFF, bytes.uint8(offset + 2) == 11,
            bytes.matches("NETSCAPE2.0", at: offset + 3) || bytes.matches("ANIMEXTS1.0", at: offset + 3)
        else { return }
        var block = offset + 14
        while let length = bytes.uint8(block), length > 0 {
            // The lowest bits are the kind of the sub-block.
            if length >= 3, let kind = bytes.uint8(block + 1), kind & 7 == 1, let count = bytes.uint16LE(block + 2) {
                loopCount = count == 0 ? 0 : Int(count) + 1
                isLooped = true
            }
            block += 1 + Int(length)
        }
    }

    private static func frame(
        _ bytes: ByteReader,
        _ offset: Int,
        _ globalTable: (offset: Int, count: Int)?,
        _ control: GraphicControl
    ) -> Frame? {
        guard let left = bytes.uint16LE(offset + 1), let top = bytes.uint16LE(offset + 3),
            let width = bytes.uint16LE(offset + 5), let height = bytes.uint16LE(offset + 7),
            let flags = bytes.uint8(offset + 9)
        else { return nil }
        let count = flags & 0x80 != 0 ? 2 << Int(flags & 7) : 0
        let start = offset + 10 + count * 3
        guard let literalBits = bytes.uint8(start) else { return nil }
        return Frame(
            rect: PixelRect(x: Int(left), y: Int(top), width: Int(width), height: Int(height)),
            isInterlaced: flags & 0x40 != 0,
            colorTable: count > 0 ? (offset + 10, count) : globalTable,
            transparentColor: control.transparentColor,
            duration: control.duration,
            disposal: control.disposal,
            literalBits: Int(literalBits),
            offset: start,
            isComplete: GIFHeader.endOfBlocks(bytes, start + 1) != nil
        )
    }
}

/// The graphic control extension of the next frame (section 23).
private struct GraphicControl {
    var duration = Duration.zero
    var disposal = FrameLayout.Disposal.keep
    var transparentColor: UInt8?

    mutating func read(_ bytes: ByteReader, _ offset: Int) {
        guard bytes.uint8(offset + 1) == 0xF9, bytes.uint8(offset + 2) == 4, let flags = bytes.uint8(offset + 3),
            let hundredths = bytes.uint16LE(offset + 4), let color = bytes.uint8(offset + 6)
        else { return }
        duration = .milliseconds(Int(hundredths) * 10)
        transparentColor = flags & 1 != 0 ? color : nil
        disposal =
            switch flags >> 2 & 7 {
            case 2: .clear
            // Some programs write 4 instead of 3, and browsers accept it.
            case 3, 4: .restore
            default: .keep
            }
    }
}
