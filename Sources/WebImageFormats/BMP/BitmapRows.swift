import WebImageCore

/// The rows of a bitmap as red, green and blue, with straight alpha if the pixels have it.
///
/// Rows are copied to arrays, whose bounds are checked even in release builds.
struct BitmapRows {
    private let bytes: ByteReader
    private let header: BitmapHeader
    private let start: Int
    /// 256 colors of three bytes. Colors missing in the file are black.
    private let palette: [UInt8]
    private let options: DecodeOptions

    /// - Parameter start: The position of the pixels.
    /// - Throws: ``ImageError/Code/badImageData`` if the file ends before the pixels do.
    init(
        _ bytes: ByteReader,
        of header: BitmapHeader,
        at start: Int,
        options: DecodeOptions
    ) throws(ImageError) {
        guard header.compression == .runLength ? start < bytes.count : start + header.byteCount <= bytes.count else {
            throw options.badData("The bitmap ends before its pixels do: it is truncated")
        }
        self.bytes = bytes
        self.header = header
        self.start = start
        self.options = options
        var palette = [UInt8](repeating: 0, count: 256 * 3)
        // The pixels may begin within the palette, which then lacks its last colors.
        let end = min(header.palette.upperBound, start)
        for (index, position) in stride(from: header.palette.lowerBound, to: end, by: header.paletteStride).enumerated()
        {
            guard position + 3 <= end else { break }
            for channel in 0..<3 { palette[index * 3 + channel] = bytes.uint8(position + 2 - channel) ?? 0 }
        }
        self.palette = palette
    }

    /// Writes the pixels from the top.
    /// - Parameters:
    ///   - memory: Memory of exactly the size of the pixels.
    ///   - bytesPerPixel: 3, or 4 with alpha.
    /// - Returns: Whether any pixel has alpha above 0.
    func write(to memory: UnsafeMutableRawBufferPointer, bytesPerPixel: Int) throws(ImageError) -> Bool {
        let size = header.size
        let isPacked = header.compression == .runLength
        var runs = BitmapRuns(bytes, of: header, at: start, options: options)
        var line = [UInt8](repeating: 0, count: isPacked ? runs.bytesPerRow : header.bytesPerRow)
        var row = [UInt8](repeating: 255, count: size.width * bytesPerPixel)
        var isVisible = false
        for y in 0..<size.height {
            if isPacked {
                try runs.read(into: &line)
            } else {
                copy(y, to: &line)
            }
            convert(line, bitCount: isPacked ? runs.bitCount : header.bitCount, bytesPerPixel, to: &row)
            if bytesPerPixel == 4, !isVisible {
                isVisible = stride(from: 3, to: row.count, by: 4).contains { row[$0] > 0 }
            }
            let top = header.isTopDown ? y : size.height - 1 - y
            UnsafeMutableRawBufferPointer(rebasing: memory[top * row.count..<(top + 1) * row.count]).copyBytes(
                from: row
            )
        }
        return isVisible
    }

    /// Copies a row of the file. The last row may lack its padding.
    private func copy(_ y: Int, to line: inout [UInt8]) {
        guard let source = bytes.slice(start + y * header.bytesPerRow, line.count) else { return }
        line.withUnsafeMutableBytes { $0.copyBytes(from: source.bytes) }
    }

    private func convert(_ line: [UInt8], bitCount: Int, _ bytesPerPixel: Int, to row: inout [UInt8]) {
        let width = header.size.width
        let hasAlpha = bytesPerPixel == 4 && !header.channels.alpha.isEmpty
        switch bitCount {
        case 16:
            for x in 0..<width {
                set(UInt32(line[x * 2]) | UInt32(line[x * 2 + 1]) << 8, at: x * bytesPerPixel, hasAlpha, in: &row)
            }
        case 32:
            for x in 0..<width {
                let low = UInt32(line[x * 4]) | UInt32(line[x * 4 + 1]) << 8
                let high = UInt32(line[x * 4 + 2]) | UInt32(line[x * 4 + 3]) << 8
                set(low | high << 16, at: x * bytesPerPixel, hasAlpha, in: &row)
            }
        case 24:
            // One check a row; checking each byte takes twice as long.
            precondition(line.count >= width * 3 && row.count >= width * bytesPerPixel && bytesPerPixel >= 3)
            line.withUnsafeBufferPointer { line in
                row.withUnsafeMutableBufferPointer { row in
                    for x in 0..<width {
                        let (source, target) = (x &* 3, x &* bytesPerPixel)
                        row[target] = line[source &+ 2]
                        row[target &+ 1] = line[source &+ 1]
                        row[target &+ 2] = line[source]
                    }
                }
            }
        default:
            let (perByte, mask) = (8 / bitCount, UInt8(truncatingIfNeeded: 1 << bitCount - 1))
            for x in 0..<width {
                let shift = (perByte - 1 - x % perByte) * bitCount
                let color = Int(line[x / perByte] >> UInt8(shift) & mask) * 3
                for channel in 0..<3 { row[x * bytesPerPixel + channel] = palette[color + channel] }
            }
        }
    }

    private func set(_ pixel: UInt32, at offset: Int, _ hasAlpha: Bool, in row: inout [UInt8]) {
        let channels = header.channels
        row[offset] = channels.red.value(pixel)
        row[offset + 1] = channels.green.value(pixel)
        row[offset + 2] = channels.blue.value(pixel)
        if hasAlpha { row[offset + 3] = channels.alpha.value(pixel) }
    }
}
