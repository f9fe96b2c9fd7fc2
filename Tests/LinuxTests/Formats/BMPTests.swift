import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux

@Suite("BMP")
struct BMPTests {
    private func decode(_ data: Data, _ options: DecodeOptions = DecodeOptions()) throws(ImageError) -> WebImage {
        #expect(ImageFormat(sniffing: data) == .bmp)
        return try CoderRegistry.builtIn.decode(data, options: options)
    }

    private func expectQuarters(_ image: WebImage, bitCount: Int) {
        #expect(image.pixelSize == PixelSize(width: 5, height: 4) && !image.pixels.hasAlpha)
        for y in 0..<4 {
            for x in 0..<5 {
                #expect(image.color(x, y) == TestBitmap.quarter(x, y, bitCount: bitCount), "(\(x), \(y))")
            }
        }
    }

    @Test(
        "Every depth is decoded behind every header",
        arguments: [1, 2, 4, 8, 16, 24, 32],
        [12, 16, 40, 52, 56, 64, 108, 124]
    )
    func depths(bitCount: Int, headerSize: Int) throws {
        // A header of 16 bytes cannot say that the palette is short.
        var bitmap = TestBitmap.quarters(bitCount: bitCount, headerSize: headerSize)
        if headerSize < 36, bitCount <= 8 {
            bitmap.palette += [UInt32](repeating: 0, count: 1 << bitCount - bitmap.palette.count)
        }
        let image = try decode(bitmap.file)
        expectQuarters(image, bitCount: bitCount)
        #expect(image.format == .bmp && ImageHeader(reading: bitmap.file)?.size == image.pixelSize)
    }

    @Test("Pixels that claim to begin with the palette follow it", arguments: [1, 4, 8])
    func pixelsAtPalette(bitCount: Int) throws {
        var file = TestBitmap.quarters(bitCount: bitCount).file
        file[10] = 14 + 40
        expectQuarters(try decode(file), bitCount: bitCount)
    }

    @Test("Rows can be stored from the top")
    func topDown() throws {
        var bitmap = TestBitmap.quarters(bitCount: 24)
        bitmap.isTopDown = true
        expectQuarters(try decode(bitmap.file), bitCount: 24)
    }

    @Test(
        "Bit fields are scaled to eight bits, rounded",
        arguments: [
            (16, [0xF800, 0x07E0, 0x001F], UInt32(0x8000 | 32 << 5 | 1), [132, 130, 8, 255]),
            (16, [0x0F00, 0x00F0, 0x000F, 0xF000], 0x8F0A, [136, 0, 91, 136]),
            (32, [0x3FF0_0000, 0xFFC00, 0x3FF], 0x2000_0000 | 1023 << 10 | 2, [128, 255, 0, 255]),
            (32, [0xFF, 0xFF00, 0xFF_0000], 0x11_2233, [0x33, 0x22, 0x11, 255]),
            (32, [0xFF00_0000, 0, 1], 0x7F00_0001, [0x7F, 0, 255, 255]),
        ] as [(Int, [UInt32], UInt32, [UInt8])],
        [40, 56, 108]
    )
    func bitFields(kind: (bits: Int, masks: [UInt32], pixel: UInt32, expected: [UInt8]), headerSize: Int) throws {
        var bitmap = TestBitmap(width: 3, height: 2, headerSize: headerSize, bitCount: kind.bits, masks: kind.masks)
        bitmap.compression = kind.masks.count == 4 && headerSize == 40 ? 6 : 3
        bitmap.color = { _, _ in kind.pixel }
        let image = try decode(bitmap.file)
        let hasAlpha = kind.masks.count == 4
        #expect(image.pixels.hasAlpha == hasAlpha)
        let bytes = image.pixels.withUnsafeBytes { Array($0.prefix(hasAlpha ? 4 : 3)) }
        // 0xF of 15 with an alpha of 8 of 15 is 136 straight for 15, and 91 premultiplied for 10.
        #expect(bytes == Array(kind.expected.prefix(bytes.count)))
    }

    @Test("Alpha that is 0 everywhere is no alpha")
    func emptyAlpha() throws {
        var bitmap = TestBitmap.quarters(bitCount: 32, headerSize: 108)
        bitmap.compression = 3
        bitmap.masks = [0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000]
        let image = try decode(bitmap.file)
        #expect(image.color(0, 0) == 0xFF0000 && image.color(4, 3) == 0xFFFFFF)
        #expect(image.pixels.withUnsafeBytes { $0[3] } == 255)
    }

    @Test(
        "Runs, copied pixels, jumps and early ends of run-length encoding are decoded",
        arguments: [
            // Two rows of 4 pixels, from the bottom: 1 1 2 3, then 0 0 2 1.
            (8, 1, [2, 1, 1, 2, 1, 3, 0, 0, 0, 2, 2, 0, 1, 2, 1, 1, 0, 1], [1, 1, 2, 3], [0, 0, 2, 1]),
            (8, 1, [0, 4, 1, 1, 2, 3, 0, 0, 0, 3, 0, 0, 2, 0, 1, 1], [1, 1, 2, 3], [0, 0, 2, 1]),
            (4, 2, [4, 0x12, 0, 0, 0, 3, 0x31, 0x20, 1, 0x10, 0, 1], [1, 2, 1, 2], [3, 1, 2, 1]),
            // A run beyond the end of a row does not spill into the next.
            (8, 1, [9, 1, 0, 0, 255, 2, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2]),
            // The end of the bitmap comes early, or a jump leaves it.
            (8, 1, [1, 3, 0, 1], [3, 0, 0, 0], [0, 0, 0, 0]),
            (8, 1, [1, 3, 0, 2, 200, 200, 5, 5], [3, 0, 0, 0], [0, 0, 0, 0]),
            (8, 1, [0, 2, 1, 1, 2, 2, 0, 1], [0, 0, 0, 0], [0, 2, 2, 0]),
            // The marks after the last pixel are missing.
            (8, 1, [4, 1, 0, 0, 4, 2], [1, 1, 1, 1], [2, 2, 2, 2]),
        ] as [(Int, UInt32, [UInt8], [Int], [Int])]
    )
    func runs(bits: Int, method: UInt32, bytes: [UInt8], bottom: [Int], top: [Int]) throws {
        var bitmap = TestBitmap(width: 4, height: 2, bitCount: bits, compression: method)
        bitmap.palette = TestBitmap.quarters
        bitmap.pixels = bytes
        let image = try decode(bitmap.file)
        #expect((0..<4).map { image.color($0, 0) } == top.map { Int(TestBitmap.quarters[$0]) })
        #expect((0..<4).map { image.color($0, 1) } == bottom.map { Int(TestBitmap.quarters[$0]) })
    }

    @Test("OS/2 stores runs of colours")
    func colorRuns() throws {
        var bitmap = TestBitmap(width: 4, height: 1, headerSize: 64, bitCount: 24, compression: 4)
        bitmap.pixels = [1, 0x33, 0x22, 0x11, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 1]
        let image = try decode(bitmap.file)
        #expect((0..<4).map { image.color($0, 0) } == [0x112233, 0x030201, 0x060504, 0x090807])
    }

    @Test("A palette can be claimed too large, be too short, or overlap the pixels")
    func palettes() throws {
        var bitmap = TestBitmap.quarters(bitCount: 8)
        bitmap.palette += [UInt32](repeating: 0x123456, count: 252)
        bitmap.colorsUsed = 1 << 24
        expectQuarters(try decode(bitmap.file), bitCount: 8)
        // Colours beyond the palette are black.
        bitmap.palette = Array(TestBitmap.quarters.prefix(2))
        bitmap.colorsUsed = 2
        let image = try decode(bitmap.file)
        #expect(image.color(0, 0) == 0xFF0000 && image.color(0, 3) == 0 && image.color(4, 3) == 0)
        // The header claims 256 colours, but the pixels begin after two.
        bitmap.colorsUsed = 0
        let overlapping = try decode(bitmap.file)
        #expect(overlapping.color(4, 0) == 0x00FF00 && overlapping.color(4, 3) == 0)
    }

    @Test("Bitmap arrays and pointers of OS/2 are recognised")
    func wrappers() throws {
        let file = TestBitmap.quarters(bitCount: 24).file
        var pointer = file
        pointer.replaceSubrange(6..<10, with: [3, 0, 2, 0])
        expectQuarters(try decode(pointer), bitCount: 24)
        var array = Data("BA".utf8) + Data([40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) + file
        array[24] += 14
        expectQuarters(try decode(array), bitCount: 24)
        #expect(ImageHeader(reading: array)?.size == PixelSize(width: 5, height: 4))
    }

    @Test("An embedded profile is applied unless the options say otherwise")
    func profile() throws {
        var bitmap = TestBitmap.quarters(bitCount: 24, headerSize: 124)
        bitmap.profile = Array(TestProfile.swapped)
        let file = bitmap.file
        #expect(try decode(file).color(0, 0).isClose(to: 0x00FF00))
        var options = DecodeOptions()
        options.convertsToSRGB = false
        expectQuarters(try decode(file, options), bitCount: 24)
    }

    @Test("A smaller size is the mean of the pixels")
    func small() throws {
        var bitmap = TestBitmap(width: 4, height: 4)
        bitmap.color = { x, y in (x + y) % 2 == 0 ? 0xFF0000 : 0x0000FF }
        let image = try decode(bitmap.file, DecodeOptions(size: .contain(PixelSize(width: 2, height: 2))))
        #expect(image.pixelSize == PixelSize(width: 2, height: 2) && image.color(0, 0) == 0x800080)
        #expect(image.naturalSize == PixelSize(width: 4, height: 4))
    }
}

@Suite("Hostile BMP")
struct HostileBMPTests {
    private func failure(_ data: Data, limit: Int = 1 << 20) -> ImageError? {
        do throws(ImageError) {
            _ = try CoderRegistry.builtIn.decode(data, options: DecodeOptions(maximumPixelCount: limit))
            return nil
        } catch {
            return error
        }
    }

    @Test("Every truncated file is an error", arguments: [1, 4, 8, 16, 24, 32])
    func truncated(bitCount: Int) {
        let file = TestBitmap.quarters(bitCount: bitCount).file
        let padding = (32 - 5 * bitCount % 32) % 32 / 8
        #expect(failure(file) == nil)
        // The padding of the last row holds nothing.
        #expect(failure(file.dropLast(padding)) == nil)
        for length in 0..<file.count - padding {
            #expect(failure(file.prefix(length))?.code == .badImageData, "\(length)")
        }
    }

    @Test("Run-length encoding that ends within a run, a jump or copied pixels is an error")
    func truncatedRuns() {
        var bitmap = TestBitmap(width: 4, height: 2, bitCount: 8, compression: 1)
        bitmap.palette = TestBitmap.quarters
        let cuts: [[UInt8]] = [[3], [0], [0, 2], [0, 2, 1], [0, 4, 1, 1, 2], [1, 1], [0, 0]]
        // All pixels of a row are there, but neither its end mark nor the next row.
        for bytes in cuts + [[4, 1], [4, 1, 0], [9, 1], [0, 4, 1, 1, 2, 3]] {
            bitmap.pixels = bytes
            #expect(failure(bitmap.file)?.code == .badImageData, "\(bytes)")
        }
    }

    @Test(
        "Sizes that make no sense are errors",
        arguments: [
            (0, 4), (5, 0), (-5, 4), (5, Int(Int32.min)), (Int(Int32.max), Int(Int32.max)), (Int(Int32.min), 1),
            (60_000, 60_000),
        ]
    )
    func sizes(width: Int, height: Int) throws {
        for compression: UInt32 in [0, 1] {
            var bitmap = TestBitmap(bitCount: compression == 0 ? 24 : 8, compression: compression)
            bitmap.pixels = [4, 1, 0, 1]
            var file = bitmap.file
            file.replaceSubrange(18..<22, with: TestBitmap.long(UInt32(truncatingIfNeeded: width)))
            file.replaceSubrange(22..<26, with: TestBitmap.long(UInt32(truncatingIfNeeded: height)))
            let error = try #require(failure(file))
            #expect(error.code == .badImageData || error.code == .imageTooLarge)
        }
    }

    @Test(
        "Pixels and headers of impossible sizes are errors",
        arguments: [(10, [20, 53]), (14, [0, 4, 13, 15])] as [(Int, [UInt32])]
    )
    func offsets(field: Int, values: [UInt32]) {
        for value in values + [130, 1 << 20, .max, 0x8000_0000] {
            var file = TestBitmap.quarters(bitCount: 24).file
            file.replaceSubrange(field..<field + 4, with: TestBitmap.long(value))
            #expect(failure(file)?.code == .badImageData, "\(value)")
        }
    }

    @Test("Depths and compressions that do not exist are errors that name them")
    func kinds() {
        for (bits, method) in [
            (0, 0), (3, 0), (64, 0), (65_535, 0), (24, 1), (8, 2), (24, 4), (1, 3), (24, 5), (8, 99),
        ] {
            var bitmap = TestBitmap(bitCount: 24, compression: UInt32(method))
            bitmap.pixels = [UInt8](repeating: 0, count: 80)
            var file = bitmap.file
            file.replaceSubrange(28..<30, with: TestBitmap.short(bits))
            #expect(failure(file)?.reason.contains("\(bits) bits a pixel with compression \(method)") == true)
        }
    }

    @Test("A profile outside of the file is ignored")
    func profile() {
        var bitmap = TestBitmap.quarters(bitCount: 24, headerSize: 124)
        bitmap.profile = [1, 2, 3]
        var file = bitmap.file
        file.replaceSubrange(14 + 112..<14 + 120, with: TestBitmap.long(.max) + TestBitmap.long(.max))
        #expect(failure(file) == nil)
    }
}
