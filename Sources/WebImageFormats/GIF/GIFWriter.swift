import FoundationEssentials
import Glibc
import WebImageCore

/// Writes the blocks of a GIF file.
struct GIFWriter {
    private var data = Data()
    private let size: PixelSize
    private let loopCount: Int
    /// The colors of the first frame, which later frames may reuse.
    private var shared: ColorPalette?

    /// - Parameter loopCount: The number of times to play the animation; 0 means endlessly.
    init(size: PixelSize, loopCount: Int) {
        self.size = size
        self.loopCount = loopCount
    }

    /// Adds a frame.
    /// - Parameters:
    ///   - frame: The pixels of the rectangle, each opaque or transparent (0).
    ///   - clears: Whether the rectangle becomes transparent after the frame.
    mutating func add(
        _ frame: PackedFrame,
        in rect: PixelRect,
        hundredths: Int,
        clears: Bool
    ) throws(ImageError) {
        // An array would crash if out of memory.
        guard let memory = malloc(rect.size.pixelCount) else {
            throw .noMemory(toEncode: "a GIF of \(rect.size) pixels")
        }
        defer { free(memory) }
        let start = memory.bindMemory(to: UInt8.self, capacity: rect.size.pixelCount)
        let indices = UnsafeMutableBufferPointer(start: start, count: rect.size.pixelCount)
        frame.withPixels { add($0, in: rect, hundredths: hundredths, clears: clears, indices) }
    }

    /// - Parameter indices: Memory for the color indices.
    private mutating func add(
        _ pixels: UnsafeBufferPointer<UInt32>,
        in rect: PixelRect,
        hundredths: Int,
        clears: Bool,
        _ indices: UnsafeMutableBufferPointer<UInt8>
    ) {
        // Some viewers fill a cleared rectangle with the frame's transparent color, so the frame needs one.
        let hasGaps = clears || pixels.contains(0)
        let limit = hasGaps ? 255 : 256
        var palette: ColorPalette
        let isShared: Bool
        if let shared, shared.colors.count <= limit, shared.covers(pixels) {
            (palette, isShared) = (shared, true)
        } else {
            (palette, isShared) = (ColorPalette(pixels, limit: limit), false)
        }
        let isFirst = data.isEmpty
        if isFirst {
            // The transparent color also needs an entry in the table.
            shared = palette
            writeHeader(palette)
        }
        let colorBits = Self.bits(palette, hasGaps: true)
        let transparent = UInt8(truncatingIfNeeded: palette.colors.count)
        writeControl(hundredths, transparent: hasGaps ? transparent : nil, clears: clears)
        data.append(0x2C)
        for number in [rect.x, rect.y, rect.size.width, rect.size.height] { append(number) }
        let hasTable = !isFirst && !isShared
        data.append(hasTable ? 0x80 | UInt8(colorBits - 1) : 0)
        if hasTable { writeTable(palette, bits: colorBits) }
        let literalBits = max(2, colorBits)
        data.append(UInt8(literalBits))
        palette.write(pixels, width: rect.size.width, transparent: transparent, to: indices)
        data.append(LZWEncoder.blocks(UnsafeBufferPointer(indices), literalBits: literalBits))
    }

    mutating func finish() -> Data {
        data.append(0x3B)
        return data
    }

    /// The number of bits of an index, 1 to 8.
    private static func bits(_ palette: ColorPalette, hasGaps: Bool) -> Int {
        let count = min(256, palette.colors.count + (hasGaps ? 1 : 0))
        var bits = 1
        while 1 << bits < count { bits += 1 }
        return bits
    }

    private mutating func writeHeader(_ palette: ColorPalette) {
        let bits = Self.bits(palette, hasGaps: true)
        data.append(contentsOf: "GIF89a".utf8)
        append(size.width)
        append(size.height)
        data.append(contentsOf: [0xF0 | UInt8(bits - 1), 0, 0])
        writeTable(palette, bits: bits)
        guard loopCount != 1 else { return }
        data.append(contentsOf: [0x21, 0xFF, 11])
        data.append(contentsOf: "NETSCAPE2.0".utf8)
        data.append(contentsOf: [3, 1])
        // The file stores the number of repetitions.
        append(loopCount == 0 ? 0 : min(loopCount - 1, 65_535))
        data.append(0)
    }

    private mutating func writeTable(_ palette: ColorPalette, bits: Int) {
        for color in palette.colors {
            data.append(contentsOf: [UInt8(color & 255), UInt8(color >> 8 & 255), UInt8(color >> 16 & 255)])
        }
        data.append(contentsOf: repeatElement(0, count: ((1 << bits) - palette.colors.count) * 3))
    }

    private mutating func writeControl(_ hundredths: Int, transparent: UInt8?, clears: Bool) {
        let disposal: UInt8 = clears ? 2 : 1
        data.append(contentsOf: [0x21, 0xF9, 4, disposal << 2 | (transparent == nil ? 0 : 1)])
        append(hundredths)
        data.append(contentsOf: [transparent ?? 0, 0])
    }

    private mutating func append(_ number: Int) {
        data.append(contentsOf: [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)])
    }
}
