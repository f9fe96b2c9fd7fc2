import WebImageCore

/// The rows of a bitmap with run-length encoding (wingdi.h, "Bitmap Compression"): RLE4 and RLE8, and RLE24 of OS/2.
///
/// A row holds a byte a pixel for RLE4 and RLE8, and three for RLE24. Pixels that the file skips are 0.
struct BitmapRuns {
    private let bytes: ByteReader
    private let width: Int
    private let storedBitCount: Int
    private let options: DecodeOptions
    private var offset: Int
    /// The pixel of the row where the next run begins.
    private var x = 0
    private var skippedRowCount = 0
    /// The number of rows after the current one.
    private var followingRowCount: Int
    private var isEnded = false

    /// Bits in a pixel of an unpacked row.
    var bitCount: Int { max(storedBitCount, 8) }
    var bytesPerRow: Int { width * bitCount / 8 }

    init(_ bytes: ByteReader, of header: BitmapHeader, at start: Int, options: DecodeOptions) {
        self.bytes = bytes
        self.options = options
        offset = start
        width = header.size.width
        followingRowCount = header.size.height
        storedBitCount = header.bitCount
    }

    /// Reads the next row.
    /// - Throws: ``ImageError/Code/badImageData`` if the file ends within the row.
    mutating func read(into line: inout [UInt8]) throws(ImageError) {
        followingRowCount -= 1
        for index in line.indices { line[index] = 0 }
        guard skippedRowCount == 0 else {
            skippedRowCount -= 1
            return
        }
        while !isEnded {
            guard let count = bytes.uint8(offset), let value = bytes.uint8(offset + 1) else {
                // After the last pixel, the end marks may be missing.
                if x >= width, followingRowCount <= 0 { return }
                throw truncated
            }
            offset += 2
            switch (count, value) {
            case (0, 0):
                x = 0
                return
            case (0, 1):
                isEnded = true
            case (0, 2):
                guard let right = bytes.uint8(offset), let down = bytes.uint8(offset + 1) else { throw truncated }
                offset += 2
                x += Int(right)
                guard down == 0 else {
                    skippedRowCount = Int(down) - 1
                    return
                }
            case (0, _):
                try readPixels(Int(value), into: &line)
            default:
                try repeatPixel(value, Int(count), into: &line)
            }
        }
    }

    /// Copies literal pixels, which end at a multiple of two bytes.
    private mutating func readPixels(_ count: Int, into line: inout [UInt8]) throws(ImageError) {
        let length = (count * storedBitCount + 7) / 8
        guard offset + length <= bytes.count else { throw truncated }
        for index in 0..<count {
            switch storedBitCount {
            case 4: set(nibble(bytes.uint8(offset + index / 2) ?? 0, index), in: &line)
            case 8: set(bytes.uint8(offset + index) ?? 0, in: &line)
            default: setColor(at: offset + index * 3, in: &line)
            }
        }
        offset += length + length % 2
    }

    private mutating func repeatPixel(_ value: UInt8, _ count: Int, into line: inout [UInt8]) throws(ImageError) {
        if storedBitCount == 24 {
            // The byte after the count is the first byte of the color.
            guard offset + 2 <= bytes.count else { throw truncated }
            for _ in 0..<count { setColor(at: offset - 1, in: &line) }
            offset += 2
        } else {
            for index in 0..<count { set(storedBitCount == 4 ? nibble(value, index) : value, in: &line) }
        }
    }

    /// Sets the next pixel. Pixels beyond the end of the row are dropped.
    private mutating func set(_ index: UInt8, in line: inout [UInt8]) {
        if x < width { line[x] = index }
        x += 1
    }

    private mutating func setColor(at position: Int, in line: inout [UInt8]) {
        if x < width {
            for channel in 0..<3 { line[x * 3 + channel] = bytes.uint8(position + channel) ?? 0 }
        }
        x += 1
    }

    private func nibble(_ byte: UInt8, _ index: Int) -> UInt8 { index % 2 == 0 ? byte >> 4 : byte & 15 }

    private var truncated: ImageError { options.badData("The bitmap ends before its pixels do: it is truncated") }
}
