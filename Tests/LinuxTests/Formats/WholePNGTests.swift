import CWebImageDeflate
import CWebImageShims
import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("PNG decoded in one go")
struct WholePNGTests {
    /// A file of random rows.
    struct Sample {
        var width = 1
        var height = 1
        var type: UInt8 = 2
        var depth = 8
        var hasKey = false
        /// The largest filter type of a row, of which PNG has five.
        var lastFilter: UInt8 = 4
        var level: Int32 = 6
        /// The bytes of an IDAT chunk.
        var partLength = Int.max

        var bytesPerRow: Int { (width * [1, 0, 3, 1, 2, 0, 4][Int(type)] * depth + 7) / 8 }

        func rows(_ random: inout SeededGenerator) -> [UInt8] {
            // Few values, so that there is something to compress and transparent colours are met.
            let values = (0..<8).map { _ in UInt8.random(in: 0...255, using: &random) }
            return (0..<height).flatMap { _ in
                [UInt8.random(in: 0...lastFilter, using: &random)]
                    + (0..<bytesPerRow).map { _ in values.randomElement(using: &random)! }
            }
        }

        func chunks(_ random: inout SeededGenerator, change: (inout [UInt8]) -> Void = { _ in }) -> [(String, [UInt8])]
        {
            var stream = compressed(rows(&random), level: level)
            change(&stream)
            var chunks = [("IHDR", number(width) + number(height) + [UInt8(depth), type, 0, 0, 0])]
            if type == 3 {
                chunks.append(("PLTE", (0..<3 << min(depth, 7)).map { _ in .random(in: 0...255, using: &random) }))
            }
            if hasKey {
                let colors = type == 3 ? [0, 90, 255] : (0..<(type == 0 ? 2 : 6)).map { UInt8($0 % 2) * 3 }
                chunks.append(("tRNS", colors))
            }
            while !stream.isEmpty {
                chunks.append(("IDAT", Array(stream.prefix(partLength))))
                stream.removeFirst(min(partLength, stream.count))
            }
            return chunks + [("IEND", [])]
        }

        private func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(value).bigEndian) { Array($0) } }

        private func compressed(_ bytes: [UInt8], level: Int32) -> [UInt8] {
            let compressor = libdeflate_alloc_compressor(level)
            defer { libdeflate_free_compressor(compressor) }
            return [UInt8](unsafeUninitializedCapacity: bytes.count + 100) { memory, count in
                count = libdeflate_zlib_compress(compressor, bytes, bytes.count, memory.baseAddress, memory.count)
            }
        }
    }

    /// The pixels as both decoders read them; `nil` from one that does not.
    private func decode(_ file: Data) throws -> (whole: [UInt8]?, rows: [UInt8]?) {
        try file.withUnsafeBytes { bytes in
            let png = try #require(gwi_png_new())
            defer { gwi_png_free(png) }
            var (width, height, hasAlpha) = (UInt32(0), UInt32(0), false)
            let start = bytes.bindMemory(to: UInt8.self).baseAddress
            _ = gwi_png_append(png, start, bytes.count)
            try #require(gwi_png_header(png, &width, &height, &hasAlpha))
            let stride = Int(width) * (hasAlpha ? 4 : 3)
            let first = try #require(PNGChunks(ByteReader(bytes)).first { $0.name == .pixels })
            let whole = gwi_png_decode(png, start, bytes.count, first.range.lowerBound).map { memory in
                defer { free(memory) }
                return Array(UnsafeBufferPointer(start: memory, count: stride * Int(height)))
            }
            var rows = [UInt8](repeating: 0, count: stride * Int(height))
            var progress = gwi_png_progress()
            rows.withUnsafeMutableBufferPointer {
                gwi_png_set_target(png, $0.baseAddress, stride)
                _ = gwi_png_append(png, nil, 0)
                gwi_png_get_progress(png, &progress)
            }
            return (whole, progress.is_done ? rows : nil)
        }
    }

    @Test(
        "Every type, depth and filter has the pixels that libpng reads",
        arguments: [(0, 1), (0, 2), (0, 4), (0, 8), (2, 8), (3, 1), (3, 2), (3, 4), (3, 8), (4, 8), (6, 8)]
    )
    func samples(type: Int, depth: Int) throws {
        var random = SeededGenerator(seed: UInt64(type * 16 + depth))
        for _ in 0..<60 {
            let sample = Sample(
                width: .random(in: 1...40, using: &random),
                height: .random(in: 1...12, using: &random),
                type: UInt8(type),
                depth: depth,
                hasKey: type < 4 && Bool.random(using: &random),
                level: .random(in: 1...9, using: &random),
                partLength: [1, 7, 50, .max].randomElement(using: &random)!
            )
            let (whole, rows) = try decode(TestImage.png(sample.chunks(&random)))
            #expect(rows != nil && whole == rows, "\(sample)")
        }
    }

    @Test("A file that is damaged or odd is left to libpng")
    func damage() throws {
        var random = SeededGenerator(seed: 3)
        let sample = Sample(width: 120, height: 90)
        func isWhole(_ sample: Sample, change: @escaping (inout [UInt8]) -> Void = { _ in }) throws -> Bool {
            try decode(TestImage.png(sample.chunks(&random, change: change))).whole != nil
        }
        #expect(try isWhole(sample))
        #expect(try !isWhole(Sample(width: 9, height: 90, lastFilter: 9)), "unknown filters")
        #expect(try !isWhole(sample) { $0[$0.count - 1] ^= 1 }, "a wrong sum of the stream")
        #expect(try !isWhole(sample) { $0[$0.count / 2] ^= 1 }, "a damaged stream")
        #expect(try !isWhole(sample) { $0.removeLast(20) }, "a stream that ends early")
        // A window of 256 bytes, which the distances of the stream exceed.
        #expect(try !isWhole(sample) { $0[0...1] = [0x08, 0x1D] }, "a window that is too small")
        #expect(
            try isWhole(Sample(width: 8, height: 9)) { $0[0...1] = [0x08, 0x1D] },
            "a window as long as the pixels"
        )
        var file = TestImage.png(sample.chunks(&random))
        file[file.count - 30] ^= 1
        let (whole, rows) = try decode(file)
        #expect(whole == nil && rows != nil, "damage that only the sums tell")
        var chunks = Sample(width: 40, height: 40, partLength: 90).chunks(&random)
        chunks.insert(("teXt", [1, 2]), at: 2)
        #expect(try decode(TestImage.png(chunks)).whole == nil, "chunks of pixels that are not consecutive")
        #expect(try decode(TestImage.png(Sample(depth: 16).chunks(&random))).whole == nil, "sixteen bits a channel")
    }

    @Test("Chunks are copied up to what rows that nothing compresses need, and libpng reads those that are longer")
    func longStreams() throws {
        var random = SeededGenerator(seed: 4)
        // Level 0 of deflate stores the rows.
        for sample in [Sample(width: 300, height: 200, type: 6, level: 0, partLength: 8192), Sample(partLength: 5)] {
            let (whole, rows) = try decode(TestImage.png(sample.chunks(&random)))
            #expect(rows != nil && whole == rows)
        }
        // What follows the stream is ignored.
        for (excess, partLength, isWhole) in [(60_000, 9000, true), (70_000, 9000, false), (70_000, .max, true)] {
            let chunks = Sample(partLength: partLength).chunks(&random) { $0 += [UInt8](repeating: 0, count: excess) }
            let (whole, rows) = try decode(TestImage.png(chunks))
            #expect(rows != nil && whole == (isWhole ? rows : nil), "\(excess) bytes in chunks of \(partLength)")
        }
    }
}
