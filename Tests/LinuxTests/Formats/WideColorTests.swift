import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

@Suite("Wide colours")
struct WideColorTests {
    private let registry = CoderRegistry.builtIn
    private let size = PixelSize(width: 40, height: 30)

    private func decode(_ data: Data, keepsWideColors: Bool = true, _ size: DecodeSize = .original) throws -> WebImage {
        var options = DecodeOptions(size: size)
        options.keepsWideColors = keepsWideColors
        return try registry.decoder(for: data, url: nil).decode(data, options: options)
    }

    /// The first channels of the pixel in the middle.
    private func channels(_ pixels: PixelBuffer) -> [Int] {
        let count = pixels.format.bytesPerPixel
        let index = (pixels.size.height / 2 * pixels.size.width + pixels.size.width / 2) * count
        return pixels.withUnsafeBytes { bytes in
            guard pixels.colors.isDeep else { return bytes[index..<index + count].map(Int.init) }
            return bytes.bindMemory(to: UInt16.self)[index..<index + count].map(Int.init)
        }
    }

    private func isClose(_ one: [Int], _ other: [Int], _ tolerance: Int) -> Bool {
        one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) <= tolerance }
    }

    private func png(_ color: UInt32, _ profile: Data) -> Data {
        TestImage.png(TestImage.solid(color, size: size, format: .png), with: profile)
    }

    /// A PNG of 16 bits a channel, without compression.
    private func deepPNG(_ color: [UInt16], orientation: UInt8 = 1) -> Data {
        func bytes(_ number: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
        let type: UInt8 = color.count == 4 ? 6 : 2
        let header: [UInt8] = bytes(size.width) + bytes(size.height) + [16, type, 0, 0, 0]
        let pixel: [UInt8] = color.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        var rows: [UInt8] = []
        for _ in 0..<size.height { rows += [0] + [[UInt8]](repeating: pixel, count: size.width).joined() }
        let exif: [UInt8] = [
            0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0,
        ]
        return TestImage.png([
            ("IHDR", header), ("eXIf", exif), ("IDAT", TestImage.stored(rows)),
            ("IEND", []),
        ])
    }

    @Test(
        "An image in Display P3 keeps its colours for the display, and apps read sRGB",
        arguments: [0xC86432, 0xFF0000, 0x10F020]
    )
    func displayP3(color: UInt32) throws {
        // given
        let file = png(color, TestProfile.displayP3)
        let standard = try decode(file, keepsWideColors: false)
        // when
        let image = try decode(file)
        // then
        let stored = [16, 8, 0].map { Int(color >> $0 & 255) }
        #expect(image.content.pixels.colors == PixelBuffer.Colors(gamut: .displayP3, isDeep: false))
        #expect(channels(image.content.pixels) == stored)
        #expect(standard.content.pixels.colors == .standard && channels(standard.pixels) != stored || color == 0xFF0000)
        #expect(image.pixels.colors == .standard)
        #expect(isClose(channels(image.pixels), channels(standard.pixels), 2))
        #expect(image.pixels === image.pixels, "The conversion is made once")
    }

    @Test("A wider gamut is converted to Display P3, and a profile within sRGB to sRGB")
    func otherGamuts() throws {
        let wide = try decode(png(0x60A040, TestProfile.wide))
        #expect(wide.content.pixels.colors.gamut == .displayP3)
        let standard = try decode(png(0x60A040, TestProfile.wide), keepsWideColors: false)
        #expect(channels(wide.content.pixels) != channels(standard.pixels))
        #expect(isClose(channels(wide.pixels), channels(standard.pixels), 3))
        for profile in [TestProfile.sRGB, TestProfile.swapped] {
            #expect(try decode(png(0x60A040, profile)).content.pixels.colors == .standard)
        }
    }

    @Test("A PNG of 16 bits keeps them at every size and orientation, and apps read 8")
    func depth() throws {
        for orientation in [UInt8(1), 6] {
            let file = deepPNG([0x1234, 0xABCD, 0x00FF], orientation: orientation)
            for size in [DecodeSize.original, .contain(PixelSize(width: 13, height: 11))] {
                let image = try decode(file, size)
                #expect(image.content.pixels.colors == PixelBuffer.Colors(gamut: .sRGB, isDeep: true))
                #expect(channels(image.content.pixels) == [0x1234, 0xABCD, 0x00FF])
                let standard = try decode(file, keepsWideColors: false, size)
                #expect(image.pixelSize == standard.pixelSize && image.pixels.size == standard.pixelSize)
                #expect(isClose(channels(image.pixels), channels(standard.pixels), 1))
                #expect(image.byteCount == standard.byteCount * 2)
            }
        }
    }

    @Test("Alpha of 16 bits is multiplied in")
    func alpha() throws {
        let image = try decode(deepPNG([0xFFFF, 0x8000, 0, 0x4000]))
        #expect(channels(image.content.pixels) == [0x4000, 0x2000, 0, 0x4000])
        #expect(channels(image.pixels) == [64, 32, 0, 64])
    }

    @Test("A profile converts 16 bits, with and without alpha")
    func deepProfile() throws {
        for alpha in [[], [UInt16(0x8000)]] {
            let file = TestImage.png(deepPNG([0xC8C8, 0x6464, 0x3232] + alpha), with: TestProfile.wide)
            let image = try decode(file)
            let standard = try decode(file, keepsWideColors: false)
            #expect(image.content.pixels.colors == PixelBuffer.Colors(gamut: .displayP3, isDeep: true))
            #expect(isClose(channels(image.pixels), channels(standard.pixels), 3))
        }
    }

    @Test("Decoding in parts gives the same 16 bits as decoding at once")
    func arriving() throws {
        var options = DecodeOptions()
        options.keepsWideColors = true
        let file = deepPNG([0x1234, 0xABCD, 0x00FF])
        let decoder = try #require(PNGCoder().makeIncrementalDecoder(for: .png, options: options))
        for start in stride(from: 0, to: file.count, by: 1000) {
            try decoder.append(file[start..<min(start + 1000, file.count)])
        }
        #expect(decoder.partialImage()?.content.pixels.colors == .standard)
        #expect(channels(try decoder.finish(file).content.pixels) == [0x1234, 0xABCD, 0x00FF])
    }

    @Test("Transformers and encoders receive sRGB")
    func transformers() throws {
        let image = try decode(png(0xC86432, TestProfile.displayP3))
        let round = try #require(ImageTransformer.rounded(4).transform(image))
        #expect(round.content.pixels.colors == .standard)
        let reread = try WebImage(data: image.data(as: .png))
        #expect(isClose(channels(reread.pixels), channels(image.pixels), 0))
    }

    @Test("A rendition keeps wide colours in every encoding")
    func renditions() throws {
        let files = [
            png(0xC86432, TestProfile.displayP3), deepPNG([0x1234, 0xABCD, 0x00FF]),
            deepPNG([0xFFFF, 0x8000, 0, 0x4000]),
        ]
        for coder in [RenditionCoder(), RenditionCoder(rawLimit: 0, roomyRawLimit: 0)] {
            for (index, file) in files.enumerated() {
                let image = try decode(file).with { if index == 0 { $0.format = .jpeg } }
                let (data, encoding) = try #require(coder.encode(image, hasRoom: false))
                var entry = CacheEntry(key: "k", data: data, storedAt: Date())
                entry.rendition = RenditionInfo(image, encoding: encoding, source: Date())
                let bytes = try CacheEntryFile.encode(entry, .standard).reduce(Data(), +)
                let found = try CacheEntryFile(tail: bytes, size: bytes.count, key: "k", .standard)
                let stored = try #require(found?.entry(bytes, .standard)?.rendition)
                let pixels = try #require(coder.decode(data, stored))
                let read = try #require(stored.image(pixels, DecodeOptions()))
                #expect(read.content.pixels.colors == image.content.pixels.colors)
                #expect(
                    isClose(channels(read.content.pixels), channels(image.content.pixels), encoding == .jpeg ? 3 : 0)
                )
            }
        }
    }
}
