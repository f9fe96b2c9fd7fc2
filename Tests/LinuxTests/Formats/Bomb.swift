import CWebImageDeflate
import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageTesting

/// A small file that a careless decoder needs gigabytes for.
struct Bomb: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// What DecodeWorker does with the file.
    var way = "whole"
    let make: @Sendable () -> Data

    private init(_ description: String, way: String = "whole", make: @escaping @Sendable () -> Data) {
        testDescription = description
        self.way = way
        self.make = make
    }

    static let all: [Bomb] = [
        Bomb("PNG with 1.6 GB of text", make: text),
        Bomb("PNG with 1.6 GB of text, arriving", way: "parts", make: text),
        Bomb("APNG with a second header", make: apng),
        Bomb("PNG of one row") { png(width: 1 << 27, height: 1) },
        Bomb("PNG of one column") { png(width: 1, height: 1 << 27) },
        Bomb("GIF whose canvas is large", way: "shown") { gif(side: 11_000) },
        Bomb("GIF of one pixel with frames that are large", way: "shown") { gif(side: 11_000, screen: 1) },
        Bomb("GIF of 6 megapixels, shown twenty times", way: "shown") { gif(side: 2500) },
        Bomb("JPEG of 134 megapixels in scans") { progressiveJPEG(side: 11_584) },
        Bomb("JPEG of 134 megapixels in scans, not progressive") { sequentialJPEG(side: 11_584) },
        Bomb("GIF of 50 megapixels at its own size", way: "full") { gif(side: 7071, frames: 1) },
        Bomb("ICO around a PNG") { icon(png(width: 20_000, height: 20_000)) },
    ]

    /// Files below every limit that take much memory.
    static let large: [Bomb] = [
        Bomb("JPEG of 36 megapixels in scans") { progressiveJPEG(side: 6000) },
        Bomb("JPEG of 36 megapixels in scans, not progressive") { sequentialJPEG(side: 6000) },
        Bomb("JPEG of 36 megapixels in inks and scans") { progressiveJPEG(side: 6000, channels: 4) },
        Bomb("PNG of 121 megapixels") { png(width: 11_000, height: 11_000) },
        Bomb("ICO around a PNG of 121 megapixels") { icon(png(width: 11_000, height: 11_000)) },
        Bomb("GIF of 100 megapixels") { gif(side: 10_000, frames: 1) },
        Bomb("GIF of 64 megapixels at its own size", way: "full") { gif(side: 8000, frames: 1) },
        Bomb("GIF of 32 megapixels, shown", way: "shown") { gif(side: 5700) },
        Bomb("GIF of 36 megapixels that would be undone", way: "full") { gif(side: 6000, frames: 1, isUndone: true) },
        Bomb("PNG of 16 megapixels that are not compressed, in two chunks", way: "full") { stored(side: 4000) },
        Bomb("APNG of 4 megapixels that are not compressed, in two chunks", way: "full") {
            stored(side: 2000, isAnimated: true)
        },
        Bomb("ICO around a PNG that is not compressed, in two chunks", way: "full") { icon(stored(side: 4000)) },
        Bomb("PNG of one pixel and 70 MB, in ten chunks", way: "full", make: pixel),
        Bomb("PNG of 16 megapixels with alpha, scaled and turned", way: "scaled") { turned(side: 4000) },
        Bomb("PNG of 9 megapixels with wide colours, scaled and turned", way: "wide") {
            turned(side: 3000, bits: 16)
        },
        Bomb("PNG of 36 megapixels with a profile", way: "full") { profiled(side: 6000) },
        Bomb("PNG of 25 megapixels with a profile and alpha", way: "full") { profiled(side: 5000, hasAlpha: true) },
        Bomb("PNG of 16 megapixels with a profile and alpha that is turned", way: "full") {
            profiled(side: 4000, hasAlpha: true, isTurned: true)
        },
        Bomb("APNG of 30 megapixels") { png(width: 5500, height: 5500, isAnimated: true) },
        Bomb("WebP of 64 megapixels, lossless", way: "full") { webP(side: 8000) },
        Bomb("WebP of 64 megapixels, lossless, with metadata", way: "full") { webP(side: 8000, isExtended: true) },
        Bomb("WebP of 25 megapixels, animated") { animatedWebP(side: 5000) },
        Bomb("TIFF of 36 megapixels in one strip") { tiff(side: 6000) },
    ]

    /// Compresses zeros.
    /// - Parameter level: 0 stores them.
    private static func zeros(_ count: Int, level: Int32 = 6) -> [UInt8] {
        let compressor = libdeflate_alloc_compressor(level)
        defer { libdeflate_free_compressor(compressor) }
        let zeros = [UInt8](repeating: 0, count: count)
        var result = [UInt8](repeating: 0, count: (level == 0 ? count + count / 1000 : count / 500) + 1000)
        result.removeLast(result.count - libdeflate_zlib_compress(compressor, zeros, count, &result, result.count))
        return result
    }

    private static func number(_ value: Int) -> [UInt8] { Array(TestBitmap.long(UInt32(value)).reversed()) }

    /// A file of one bit a pixel, all of them black.
    static func png(width: Int, height: Int, isAnimated: Bool = false) -> Data {
        let rows = zeros((1 + (width + 7) / 8) * height)
        let header: [UInt8] = number(width) + number(height) + [1, 0, 0, 0, 0]
        guard isAnimated else { return TestImage.png([("IHDR", header), ("IDAT", rows), ("IEND", [])]) }
        let control = number(width) + number(height) + number(0) + number(0) + [0, 10, 0, 100, 0, 0]
        return TestImage.png([
            ("IHDR", header), ("acTL", number(2) + number(0)), ("fcTL", number(0) + control), ("IDAT", rows),
            ("fcTL", number(1) + control), ("fdAT", number(2) + rows), ("IEND", []),
        ])
    }

    /// A file of chunks, of which some are too long for the checksums of TestImage.
    private static func png(_ chunks: [(name: String, contents: [UInt8])]) -> Data {
        chunks.reduce(into: Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])) { file, chunk in
            let named = Array(chunk.name.utf8) + chunk.contents
            file += number(chunk.contents.count)
            file += named
            file += number(Int(libdeflate_crc32(0, named, named.count)))
        }
    }

    /// Rows of four bytes a pixel, in a stream that is as long.
    static func storedRows(side: Int) -> [UInt8] { zeros((1 + side * 4) * side, level: 0) }

    /// A file of four bytes a pixel, all of them transparent, which are stored in two chunks.
    static func stored(side: Int, isAnimated: Bool = false) -> Data {
        let rows = storedRows(side: side)
        let halves = [Array(rows.prefix(rows.count / 2)), Array(rows.dropFirst(rows.count / 2))]
        let header = number(side) + number(side) + [8, 6, 0, 0, 0]
        var chunks = [("IHDR", header)]
        if isAnimated {
            let control = number(0) + number(side) + number(side) + number(0) + number(0) + [0, 10, 0, 100, 0, 0]
            chunks += [("acTL", number(2) + number(0)), ("fcTL", control)]
        }
        chunks += halves.map { ("IDAT", $0) }
        if isAnimated {
            let control = number(1) + number(1) + number(1) + number(0) + number(0) + [0, 10, 0, 100, 0, 0]
            chunks += [("fcTL", control), ("fdAT", number(2) + zeros(5))]
        }
        return png(chunks + [("IEND", [])])
    }

    /// A file with much behind its pixel.
    private static func pixel() -> Data {
        let rest = [UInt8](repeating: 0, count: 7_000_000)
        return png(
            [("IHDR", number(1) + number(1) + [8, 6, 0, 0, 0]), ("IDAT", zeros(5))]
                + (0..<10).map { _ in ("IDAT", rest) } + [("IEND", [])]
        )
    }

    /// A file with alpha, all of it transparent, that is turned.
    private static func turned(side: Int, bits: UInt8 = 8) -> Data {
        let rows = zeros((1 + side * 4 * Int(bits / 8)) * side)
        return png([
            ("IHDR", number(side) + number(side) + [bits, 6, 0, 0, 0]), ("eXIf", turn), ("IDAT", rows), ("IEND", []),
        ])
    }

    /// Exif data with the orientation 6.
    private static let turn: [UInt8] = [
        0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 18, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0,
    ]

    /// A grey file, all of it black, whose levels are not those of sRGB.
    private static func profiled(side: Int, hasAlpha: Bool = false, isTurned: Bool = false) -> Data {
        let rows = zeros((1 + (hasAlpha ? side * 2 : (side + 7) / 8)) * side)
        let header: [UInt8] = number(side) + number(side) + (hasAlpha ? [8, 4] : [1, 0]) + [0, 0, 0]
        let file = TestImage.png(
            [("IHDR", header)] + (isTurned ? [("eXIf", turn)] : []) + [("IDAT", rows), ("IEND", [])]
        )
        return TestImage.png(file, with: TestProfile.linearGrey)
    }

    /// A lossless image in one colour, whose five codes have one symbol each and thus no bits (RFC 9649, section 3.7.2.1.1).
    private static func losslessChunk(side: Int) -> [UInt8] {
        let size = UInt32(side - 1) | UInt32(side - 1) << 14
        // Neither a transform, a cache of colours nor several codes, then five codes of four bits.
        let codes: [UInt8] = [0x88, 0x88, 0x08]
        return chunk("VP8L", [0x2F] + TestBitmap.long(size) + codes + [0, 0])
    }

    static func chunk(_ name: String, _ contents: [UInt8]) -> [UInt8] {
        Array(name.utf8) + TestBitmap.long(UInt32(contents.count)) + contents + (contents.count % 2 == 0 ? [] : [0])
    }

    static func webP(_ chunks: [UInt8]) -> Data { Data(chunk("RIFF", Array("WEBP".utf8) + chunks)) }

    static func extended(side: Int, flags: UInt8) -> [UInt8] {
        let size = TestBitmap.long(UInt32(side - 1)).prefix(3)
        return chunk("VP8X", [flags, 0, 0, 0] + size + size)
    }

    static func webP(side: Int, isExtended: Bool = false) -> Data {
        webP((isExtended ? extended(side: side, flags: 0) : []) + losslessChunk(side: side))
    }

    static func animatedWebP(side: Int) -> Data {
        let size = Array(TestBitmap.long(UInt32(side - 1)).prefix(3))
        let frame = chunk("ANMF", [0, 0, 0, 0, 0, 0] + size + size + [100, 0, 0, 0] + losslessChunk(side: side))
        return webP(extended(side: side, flags: 2) + chunk("ANIM", [0, 0, 0, 0, 0, 0]) + frame + frame)
    }

    /// A file of three bytes a pixel, all of them black, in one compressed strip.
    static func tiff(side: Int) -> Data {
        let pixels = zeros(side * side * 3)
        let tags: [(tag: UInt8, type: UInt8, count: Int, value: Int)] = [
            (0x00, 4, 1, side), (0x01, 4, 1, side), (0x02, 3, 3, 8 + 2 + 10 * 12 + 4), (0x03, 3, 1, 8), (0x06, 3, 1, 2),
            (0x11, 4, 1, 8 + 2 + 10 * 12 + 4 + 6), (0x15, 3, 1, 3), (0x16, 4, 1, side), (0x17, 4, 1, pixels.count),
            (0x1C, 3, 1, 1),
        ]
        var file: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0, UInt8(tags.count), 0]
        for (tag, type, count, value) in tags {
            file += [tag, 1, type, 0] + TestBitmap.long(UInt32(count)) + TestBitmap.long(UInt32(value))
        }
        return Data(file + [0, 0, 0, 0, 8, 0, 8, 0, 8, 0] + pixels)
    }

    private static func text() -> Data {
        let small = TestImage.solid(0xFF0000, size: PixelSize(width: 16, height: 16))
        let chunk = TestImage.chunk("zTXt", Array("Comment\0\0".utf8) + zeros(7_900_000))
        return small.prefix(33) + (0..<200).reduce(into: Data()) { data, _ in data += chunk } + small.dropFirst(33)
    }

    private static func apng() -> Data {
        let size: [UInt8] = number(20_000) + number(20_000) + [8, 6, 0, 0, 0]
        let place: [UInt8] = number(1) + number(1) + number(0) + number(0)
        let control: [UInt8] = place + [0, 10, 0, 100, 0, 0]
        let small: [UInt8] = number(1) + number(1) + [8, 6, 0, 0, 0]
        let pixel = zeros(5)
        return TestImage.png([
            ("IHDR", small), ("acTL", number(2) + number(0)),
            ("fcTL", number(0) + control), ("IDAT", pixel), ("IHDR", size), ("fcTL", number(1) + control),
            ("fdAT", number(2) + pixel), ("IEND", []),
        ])
    }

    /// A GIF of two frames: a square in one colour, and a pixel.
    /// - Parameters:
    ///   - screen: The side of the canvas. Default: that of the first frame.
    ///   - frameCount: 1 for the square only.
    ///   - isUndone: Whether what is beneath a frame is shown again after it.
    static func gif(side: Int, screen: Int? = nil, frames frameCount: Int = 2, isUndone: Bool = false) -> Data {
        let canvas = [UInt8(side & 255), UInt8(side >> 8), UInt8(side & 255), UInt8(side >> 8)]
        var file: [UInt8] = Array("GIF89a".utf8)
        let screen = screen ?? side
        file += [UInt8(screen & 255), UInt8(screen >> 8), UInt8(screen & 255), UInt8(screen >> 8)]
        file += [0x80, 0, 0, 255, 0, 0, 0, 0, 255]
        let frames: [(size: [UInt8], count: Int)] = [(canvas, side * side), ([1, 0, 1, 0], 1)]
        // A screen that is too small would grow with the first frame.
        for frame in (screen < side ? frames.reversed() : frames).prefix(frameCount) {
            file += [0x21, 0xF9, 4, isUndone ? 12 : 4, 10, 0, 0, 0, 0x2C, 0, 0, 0, 0]
            file += frame.size
            file += [0, 2]
            file += run(frame.count)
        }
        file.append(0x3B)
        return Data(file)
    }

    /// A GIF of 1000x1000 pixels whose frames are each drawn on the one before.
    static func layers(_ count: Int) -> Data {
        var file: [UInt8] = Array("GIF89a".utf8) + [232, 3, 232, 3, 0x80, 0, 0, 255, 0, 0, 0, 0, 255]
        for index in 0..<count {
            // All but the first leave a column out.
            let (width, size): (Int, [UInt8]) = index == 0 ? (1000, [232, 3]) : (999, [231, 3])
            file += [0x21, 0xF9, 4, 4, 10, 0, 0, 0, 0x2C, 0, 0, 0, 0] + size + [232, 3, 0, 2]
            file += run(width * 1000)
        }
        file.append(0x3B)
        return Data(file)
    }

    /// LZW codes for a run of the colour 0. Each code stands for one pixel more than the one before it.
    private static func run(_ count: Int) -> [UInt8] {
        var (bytes, bits, bitCount) = ([UInt8](), 0, 0)
        func emit(_ code: Int, width: Int) {
            bits |= code << bitCount
            bitCount += width
            while bitCount >= 8 {
                bytes.append(UInt8(bits & 255))
                (bits, bitCount) = (bits >> 8, bitCount - 8)
            }
        }
        var (left, last) = (count, 3)
        while left > 0 {
            emit(4, width: last)
            emit(0, width: 3)
            left -= 1
            last = 3
            var (code, length) = (6, 2)
            while left >= length, code < 4096 {
                last = Int.bitWidth - code.leadingZeroBitCount
                emit(code, width: last)
                left -= length
                (code, length) = (code + 1, length + 1)
            }
            // The entry of the last code can have made the next one wider.
            if code == 1 << last, last < 12 { last += 1 }
        }
        emit(5, width: last)
        emit(0, width: 8)
        var blocks: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 255) {
            let block = bytes[start..<min(start + 255, bytes.count)]
            blocks.append(UInt8(block.count))
            blocks += block
        }
        blocks.append(0)
        return blocks
    }

    /// The markers of a JPEG up to its first scan: its size, and tables of one code of one bit, which means zeros.
    private static func jpegHead(_ frame: UInt8, side: Int, channels: Int) -> [UInt8] {
        var file: [UInt8] = [0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0]
        file += [UInt8](repeating: 1, count: 64)
        let height = [UInt8(side >> 8), UInt8(side & 255)]
        file += [0xFF, frame, 0, UInt8(8 + channels * 3), 8]
        file += height
        file += height
        file.append(UInt8(channels))
        for channel in 1...channels { file += [UInt8(channel), 0x11, 0] }
        for table: UInt8 in [0, 0x10] {
            file += [0xFF, 0xC4, 0, 20, table, 1]
            file += [UInt8](repeating: 0, count: 16)
        }
        return file
    }

    /// A progressive file whose scans have the mean of each block, in one bit for each of its channels.
    static func progressiveJPEG(side: Int, channels: Int = 3, scans: Int = 1) -> Data {
        var file = jpegHead(0xC2, side: side, channels: channels)
        for _ in 0..<scans {
            file += [0xFF, 0xDA, 0, UInt8(6 + channels * 2), UInt8(channels)]
            for channel in 1...channels { file += [UInt8(channel), 0] }
            file += [0, 0, 0]
            file += [UInt8](repeating: 0, count: (side / 8) * (side / 8) * channels / 8)
        }
        file += [0xFF, 0xD9]
        return Data(file)
    }

    /// A sequential file with a scan for each channel, of two bits for each of its blocks.
    private static func sequentialJPEG(side: Int) -> Data {
        var file = jpegHead(0xC0, side: side, channels: 3)
        for channel: UInt8 in 1...3 {
            file += [0xFF, 0xDA, 0, 8, 1, channel, 0, 0, 63, 0]
            file += [UInt8](repeating: 0, count: (side / 8) * (side / 8) * 2 / 8)
        }
        file += [0xFF, 0xD9]
        return Data(file)
    }

    private static func icon(_ image: Data) -> Data {
        var file: [UInt8] = [0, 0, 1, 0, 1, 0]
        file += [UInt8](repeating: 0, count: 8)
        file += TestBitmap.long(UInt32(image.count))
        file += TestBitmap.long(22)
        return Data(file) + image
    }
}

extension Bomb {
    /// What a worker says about the file, and the megabytes that it took and had reserved.
    func explode() throws -> (outcome: String, megabytes: Int, reserved: Int) {
        let folder = TemporaryDirectory()
        try make().write(to: URL(filePath: "\(folder.path)/bomb"))
        let worker = BuiltProgram.path("DecodeWorker")
        let result = try ChildProcess.run(worker, ["\(folder.path)/bomb", way])
        let lines = result.output.split(separator: "\n")
        func number(_ name: String) throws -> Int {
            try #require(
                lines.first { $0.hasPrefix("\(name): ") }.flatMap { Int($0.dropFirst(name.count + 2)) },
                "\(result.output)"
            )
        }
        return (String(lines.first ?? ""), try number("megabytes"), try number("reserved"))
    }
}
