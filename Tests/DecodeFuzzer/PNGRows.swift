import CWebImageDeflate
import CWebImageShims
import Foundation

/// PNG files whose checksums are right, so that the fuzzer reaches the rows. What libdeflate inflates as a whole, libpng has to read
/// row by row, with the same pixels.
enum PNGRows {
    @Sendable static func compare(_ input: Data) {
        guard let file = file(input) else { return }
        file.withUnsafeBytes { bytes in
            let start = bytes.bindMemory(to: UInt8.self).baseAddress
            guard let png = gwi_png_new() else { return }
            defer { gwi_png_free(png) }
            var (width, height, hasAlpha) = (UInt32(0), UInt32(0), false)
            guard gwi_png_append(png, start, bytes.count), gwi_png_header(png, &width, &height, &hasAlpha),
                let offset = file.range(of: Data("IDAT".utf8))?.lowerBound,
                let whole = gwi_png_decode(png, start, bytes.count, offset - 4)
            else { return }
            defer { free(whole) }
            let stride = Int(width) * (hasAlpha ? 4 : 3)
            var rows = [UInt8](repeating: 0, count: stride * Int(height))
            var progress = gwi_png_progress()
            rows.withUnsafeMutableBufferPointer {
                gwi_png_set_target(png, $0.baseAddress, stride)
                _ = gwi_png_append(png, nil, 0)
                gwi_png_get_progress(png, &progress)
            }
            precondition(progress.is_done, "Only libdeflate reads it: \(String(cString: gwi_png_message(png)))")
            precondition(rows.elementsEqual(UnsafeBufferPointer(start: whole, count: rows.count)), "The pixels differ")
        }
    }

    /// A file whose header, palette and rows are the input.
    private static func file(_ input: Data) -> Data? {
        var rest = Array(input)
        guard rest.count > 16 else { return nil }
        let settings = rest.prefix(8)
        rest.removeFirst(8)
        let (width, height) = (1 + Int(settings[0]) % 70, 1 + Int(settings[1]) % 40)
        let type = [0, 2, 3, 4, 6][Int(settings[2]) % 5]
        let depth = type == 0 || type == 3 ? 1 << (Int(settings[3]) % 4) : 8
        let bytesPerRow = (width * [1, 0, 3, 1, 2, 0, 4][type] * depth + 7) / 8
        var rows = (0..<(bytesPerRow + 1) * height).map {
            rest[$0 % rest.count] &+ UInt8(truncatingIfNeeded: $0 / rest.count)
        }
        for row in 0..<height { rows[row * (bytesPerRow + 1)] %= 5 }
        let stream = settings[4] & 1 == 0 ? compressed(rows, level: Int32(settings[5] % 13)) : rest
        var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        append("IHDR", [0, 0, 0, UInt8(width), 0, 0, 0, UInt8(height), UInt8(depth), UInt8(type), 0, 0, 0], to: &file)
        if type == 3 { append("PLTE", (0..<3 << depth).map { rest[$0 % rest.count] &+ UInt8($0 & 255) }, to: &file) }
        if settings[4] & 2 != 0, type < 4 { append("tRNS", Array(rest.prefix([2, 0, 6, 1][type])), to: &file) }
        let partLength = settings[4] & 4 == 0 ? stream.count : 1 + Int(settings[6])
        for start in stride(from: 0, to: stream.count, by: partLength) {
            append("IDAT", Array(stream[start..<min(start + partLength, stream.count)]), to: &file)
        }
        append("IEND", [], to: &file)
        return file
    }

    private static func compressed(_ bytes: [UInt8], level: Int32) -> [UInt8] {
        let compressor = libdeflate_alloc_compressor(level)
        defer { libdeflate_free_compressor(compressor) }
        return [UInt8](unsafeUninitializedCapacity: bytes.count + 1_000) { memory, count in
            count = libdeflate_zlib_compress(compressor, bytes, bytes.count, memory.baseAddress, memory.count)
        }
    }

    private static func append(_ name: String, _ contents: [UInt8], to file: inout Data) {
        let named = Array(name.utf8) + contents
        withUnsafeBytes(of: UInt32(contents.count).bigEndian) { file.append(contentsOf: $0) }
        file.append(contentsOf: named)
        withUnsafeBytes(of: libdeflate_crc32(0, named, named.count).bigEndian) { file.append(contentsOf: $0) }
    }
}
