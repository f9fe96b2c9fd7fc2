import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageSandbox
import WebImageTesting

@Suite("ICO")
struct ICOTests {
    /// An icon file with images, whose directory says what `claims` says.
    private func icon(_ images: [[UInt8]], isCursor: Bool = false, claim: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0]) -> Data {
        var file = Data([0, 0, isCursor ? 2 : 1, 0] + TestBitmap.short(images.count))
        var offset = 6 + images.count * 16
        for image in images {
            file += claim + TestBitmap.long(UInt32(image.count)) + TestBitmap.long(UInt32(offset))
            offset += image.count
        }
        return images.reduce(file, +)
    }

    private func png(_ color: UInt32, _ side: Int) -> [UInt8] {
        Array(TestImage.solid(color, size: PixelSize(width: side, height: side)))
    }

    private func bitmap(_ color: UInt32, _ side: Int) -> [UInt8] {
        var bitmap = TestBitmap(width: side, height: side)
        bitmap.color = { _, _ in color }
        return bitmap.icon()
    }

    private func decode(_ data: Data, side: Int? = nil) throws(ImageError) -> WebImage {
        #expect(ImageFormat(sniffing: data) == .ico)
        var options = DecodeOptions(maximumPixelCount: 1 << 20)
        if let side { options.size = .contain(PixelSize(width: side, height: side)) }
        return try CoderRegistry.builtIn.decode(data, options: options)
    }

    private func alpha(_ image: WebImage, _ x: Int, _ y: Int) -> UInt8 {
        image.pixels.withUnsafeBytes { $0[y * image.pixels.bytesPerRow + x * 4 + 3] }
    }

    @Test("The smallest image that suffices is decoded, else the largest, whether bitmap or PNG")
    func bestImage() throws {
        let file = icon([bitmap(0xFF0000, 16), png(0x00FF00, 64), bitmap(0x0000FF, 32), png(0xFFFF00, 256)])
        for (side, color, size) in [
            (8, 0xFF0000, 8), (16, 0xFF0000, 16), (17, 0x0000FF, 17), (32, 0x0000FF, 32), (60, 0x00FF00, 60),
            (65, 0xFFFF00, 65), (1000, 0xFFFF00, 256),
        ] {
            let image = try decode(file, side: side)
            #expect(image.color(0, 0) == color && image.pixelSize == PixelSize(width: size, height: size), "\(side)")
            #expect(image.naturalSize == PixelSize(width: 256, height: 256) && image.format == .ico)
            #expect(image.decodeOptions?.size == .contain(PixelSize(width: side, height: side)))
        }
        #expect(try decode(file).color(9, 9) == 0xFFFF00)
    }

    @Test("An icon whose largest image is damaged shows another one, in workers as well", arguments: [200, 32_652])
    func damagedLargest(claimedHeight: Int) throws {
        var damaged = bitmap(0xFF0000, 16)
        damaged.replaceSubrange(8..<12, with: TestBitmap.long(UInt32(claimedHeight)))
        damaged[16] = 128
        let file = icon([damaged, bitmap(0x0000FF, 32)])
        let sandbox = DecodeSandbox(limit: 1)
        for coders in [CoderRegistry.builtIn, .builtIn(adding: [], sandbox: (sandbox, isOptional: false))] {
            let image = try coders.decode(file)
            #expect(image.color(9, 9) == 0x0000FF && image.naturalSize == PixelSize(width: 32, height: 32))
        }
    }

    @Test("Of images of one size, that with the most colours is decoded")
    func depth() throws {
        var coarse = TestBitmap(width: 16, height: 16, bitCount: 1)
        coarse.palette = [0xFF0000, 0xFF0000]
        let file = icon([coarse.icon(), bitmap(0x00FF00, 16), coarse.icon()])
        #expect(try decode(file).color(3, 3) == 0x00FF00)
        #expect(try decode(file, side: 16).color(3, 3) == 0x00FF00)
    }

    @Test("Sizes and lengths in the directory do not matter, for programs write wrong ones")
    func claims() throws {
        let file = icon([png(0x00FF00, 64), bitmap(0xFF0000, 16)], claim: [48, 1, 2, 0, 255, 255, 255, 255])
        #expect(try decode(file).pixelSize == PixelSize(width: 64, height: 64))
        var short = file
        for offset in [14, 30] { short.replaceSubrange(offset..<offset + 4, with: [1, 0, 0, 0]) }
        #expect(try decode(short).color(0, 0) == 0x00FF00)
        #expect(try decode(short, side: 16).color(0, 0) == 0xFF0000)
    }

    @Test("The mask hides pixels at every depth", arguments: [1, 4, 8, 16, 24, 32])
    func mask(bitCount: Int) throws {
        for isTopDown in [false, true] {
            var bitmap = TestBitmap.quarters(bitCount: bitCount)
            bitmap.isTopDown = isTopDown
            let image = try decode(icon([bitmap.icon { x, y in x == 4 && y == 0 }]))
            #expect(image.pixelSize == PixelSize(width: 5, height: 4))
            for y in 0..<4 {
                for x in 0..<5 where x != 4 || y != 0 {
                    #expect(image.color(x, y) == TestBitmap.quarter(x, y, bitCount: bitCount))
                    #expect(alpha(image, x, y) == 255)
                }
            }
            #expect(alpha(image, 4, 0) == 0 && image.color(4, 0) == 0)
        }
    }

    @Test("Alpha replaces the mask, which can be missing then")
    func alpha() throws {
        var bitmap = TestBitmap(width: 2, height: 2, bitCount: 32)
        bitmap.color = { x, y in x == 0 ? 0x8000_00FF : 0x00FF_FFFF }
        for image in [bitmap.icon { _, _ in true }, bitmap.icon().dropLast(8)] {
            let decoded = try decode(icon([Array(image)]))
            #expect(decoded.color(0, 0) == 0x000080 && alpha(decoded, 0, 1) == 128)
            #expect(decoded.color(1, 1) == 0 && alpha(decoded, 1, 1) == 0)
        }
    }

    @Test("A cursor is an icon, and a TGA file is none")
    func cursor() throws {
        let cursor = icon([bitmap(0xFF0000, 32)], isCursor: true, claim: [32, 32, 0, 0, 5, 0, 7, 0])
        #expect(try decode(cursor).color(31, 31) == 0xFF0000)
        let tga = Data([0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 24, 0x20, 0, 0, 255, 0, 255, 0])
        #expect(ImageFormat(sniffing: tga) == .unknown)
    }
}

extension ICOTests {
    private func failure(_ data: Data) -> ImageError? {
        do throws(ImageError) {
            _ = try decode(data)
            return nil
        } catch {
            return error
        }
    }

    @Test("Every file that lacks pixels is an error, and so is a file that lacks its best image")
    func truncated() {
        // The mask with the padding of the last row before it, and what follows the pixels of a PNG, hold none.
        for (image, rest) in [
            (TestBitmap.quarters(bitCount: 8).icon(), 19), (bitmap(0xFF, 3), 15), (png(0xFF, 4), 20),
        ] {
            let file = icon([image])
            #expect(failure(file) == nil)
            for length in 6..<file.count - rest {
                #expect(failure(file.prefix(length))?.code == .badImageData, "\(length)")
            }
        }
        let two = icon([bitmap(0xFF, 4), bitmap(0xFF, 16)])
        #expect(failure(two.dropLast(100))?.code == .badImageData)
    }

    @Test("Images outside of the file, in the directory or on top of each other are errors or images")
    func offsets() {
        let file = icon([bitmap(0xFF, 4), bitmap(0xFF, 4)])
        for offset: UInt32 in [0, 6, 22, 100, UInt32(file.count) - 1, UInt32(file.count), 1 << 31, .max] {
            var damaged = file
            for entry in [18, 34] { damaged.replaceSubrange(entry..<entry + 4, with: TestBitmap.long(offset)) }
            if let error = failure(damaged) { #expect(error.code == .badImageData) }
        }
        #expect(failure(Data([0, 0, 1, 0, 255, 255, 0, 0]))?.code == .badImageData)
    }

    @Test("Images of impossible sizes are errors")
    func sizes() {
        for (width, height): (UInt32, UInt32) in [
            (0, 8), (4, 0), (4, 1), (.max, 8), (4, 0x8000_0000), (0x7FFF_FFFF, 8),
        ] {
            var file = icon([bitmap(0xFF, 4)])
            file.replaceSubrange(26..<34, with: TestBitmap.long(width) + TestBitmap.long(height))
            let code = failure(file)?.code
            #expect(code == .badImageData || code == .imageTooLarge, "\(width) \(height)")
        }
        var large = icon([png(0xFF, 4)])
        large.replaceSubrange(22 + 16..<22 + 24, with: [0, 0, 0x40, 0, 0, 0, 0x40, 0])
        #expect(failure(large)?.code == .imageTooLarge)
        large.replaceSubrange(22 + 16..<22 + 24, with: [UInt8](repeating: 255, count: 8))
        #expect(failure(large)?.code == .imageTooLarge)
    }

    @Test("Sixty-five thousand images in one place take no time")
    func manyImages() {
        var file = Data([0, 0, 1, 0, 255, 255])
        for _ in 0..<65_535 { file += [UInt8](repeating: 0, count: 12) + TestBitmap.long(UInt32(6 + 65_535 * 16)) }
        file += Data(png(0xFF, 4))
        // The time of this thread, which other tests do not change. Looking at each image for each image would take minutes.
        let start = threadTime()
        #expect(failure(file) == nil)
        #expect(threadTime() - start < .seconds(10))
    }
}
