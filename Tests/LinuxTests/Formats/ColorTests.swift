import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

@Suite("Colour profiles")
struct ColorTests {
    private let registry = CoderRegistry.builtIn
    private let size = PixelSize(width: 40, height: 30)

    private func decode(_ data: Data, converts: Bool = true, _ size: DecodeSize = .original) throws -> WebImage {
        var options = DecodeOptions(size: size)
        options.convertsToSRGB = converts
        return try registry.decoder(for: data, url: nil).decode(data, options: options)
    }

    private func pixel(_ image: WebImage) -> [Int] {
        let count = image.pixels.format.bytesPerPixel
        let offset = image.pixelSize.height / 2 * image.pixels.bytesPerRow + image.pixelSize.width / 2 * count
        return image.pixels.withUnsafeBytes { $0[offset..<offset + count].map(Int.init) }
    }

    private func isClose(_ one: [Int], _ other: [Int], _ tolerance: Int = 4) -> Bool {
        one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) <= tolerance }
    }

    /// A JPEG with the profile in one APP2 segment or in several.
    private func jpeg(_ color: UInt32, _ profile: Data, parts: Int = 1) -> Data {
        let file = TestImage.solid(color, size: size, format: .jpeg)
        var segments = Data()
        let step = (profile.count + parts - 1) / parts
        for part in 0..<parts {
            let piece = profile[(part * step)..<min(profile.count, (part + 1) * step)]
            let length = piece.count + 16
            segments += Data([0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 255)]) + Data("ICC_PROFILE\0".utf8)
            segments += Data([UInt8(part + 1), UInt8(parts)]) + piece
        }
        return file.prefix(2) + segments + file.dropFirst(2)
    }

    /// Wraps a simple file into an extended one (RFC 9649, 2.7).
    private func webp(_ pixels: PixelBuffer, _ profile: Data) throws -> Data {
        var options = EncodeOptions()
        options.isLossless = true
        let simple = try WebPEncoder().encode(pixels, as: .webp, options: options)
        func number(_ value: Int, _ count: Int) -> Data { Data((0..<count).map { UInt8(value >> ($0 * 8) & 255) }) }
        let flags: UInt8 = pixels.hasAlpha ? 0x30 : 0x20
        var chunks = Data("VP8X".utf8) + number(10, 4) + Data([flags, 0, 0, 0])
        chunks += number(pixels.size.width - 1, 3) + number(pixels.size.height - 1, 3)
        chunks += Data("ICCP".utf8) + number(profile.count, 4) + profile + Data(count: profile.count & 1)
        chunks += simple.dropFirst(12)
        return Data("RIFF".utf8) + number(chunks.count + 4, 4) + Data("WEBP".utf8) + chunks
    }

    private func pixels(_ color: [UInt8]) throws -> PixelBuffer {
        let format = color.count == 4 ? PixelBuffer.Format.rgbaPremultiplied : .rgb
        return try #require(
            PixelBuffer(size: size, format: format) { memory in
                for index in memory.indices { memory[index] = color[index % color.count] }
            }
        )
    }

    @Test("A JPEG is converted from its profile, whole and downsampled, in one part or several")
    func jpegs() throws {
        for parts in [1, 3] {
            let file = jpeg(0xFF0000, TestProfile.swapped, parts: parts)
            let shown = pixel(try decode(file))
            #expect(isClose(shown, [0, 255, 0]), "\(shown)")
            let small = try decode(file, .contain(PixelSize(width: 10, height: 10)))
            #expect(isClose(pixel(small), [0, 255, 0]) && small.naturalSize == size)
            #expect(isClose(pixel(try decode(file, converts: false)), [254, 0, 0]))
        }
    }

    @Test("An embedded sRGB profile changes no bit")
    func sRGB() throws {
        let plain = TestImage.quarters(size: size, format: .jpeg)
        let file =
            plain.prefix(2) + jpeg(0, TestProfile.sRGB).dropFirst(2).prefix(TestProfile.sRGB.count + 18)
            + plain.dropFirst(2)
        let (one, other) = (try decode(plain).pixels, try decode(file).pixels)
        #expect(one.withUnsafeBytes { bytes in other.withUnsafeBytes { bytes.elementsEqual($0) } })
    }

    @Test("A profile that is damaged, truncated or of another colour space is ignored")
    func damaged() throws {
        var garbage = TestProfile.swapped
        for index in 0..<garbage.count { garbage[index] = UInt8(truncatingIfNeeded: index &* 31) }
        for profile in [garbage, Data(TestProfile.swapped.prefix(200)), Data(count: 10)] {
            #expect(isClose(pixel(try decode(jpeg(0xFF0000, profile))), [254, 0, 0]))
        }
        // The second of two parts is missing.
        let file = jpeg(0xFF0000, TestProfile.swapped, parts: 2)
        let second = try #require(file.range(of: Data("ICC_PROFILE\0\u{2}".utf8)))
        var broken = file
        broken[second.upperBound - 1] = 7
        #expect(isClose(pixel(try decode(broken)), [254, 0, 0]))
    }

    @Test("WebP and PNG are converted from their profiles, with and without alpha")
    func others() throws {
        let opaque = try decode(try webp(try pixels([255, 0, 0]), TestProfile.swapped))
        #expect(isClose(pixel(opaque), [0, 255, 0]))
        let half = try decode(try webp(try pixels([128, 0, 0, 128]), TestProfile.swapped))
        #expect(isClose(pixel(half), [0, 128, 0, 128]))
        for (color, expected) in [([UInt8(255), 0, 0], [0, 255, 0]), ([128, 0, 0, 128], [0, 128, 0, 128])] {
            let file = try PNGEncoder().encode(try pixels(color), as: .png, options: EncodeOptions())
            let shown = pixel(try decode(TestImage.png(file, with: TestProfile.swapped)))
            #expect(isClose(shown, expected), "\(shown)")
        }
    }

    @Test("A request can ignore colour profiles, and its image is cached apart")
    func requests() {
        let url = URL(string: "http://host/a.jpg")!
        var unconverted = ImageRequest(url: url)
        unconverted.convertsToSRGB = false
        #expect(ImageKey(ImageRequest(url: url)) != ImageKey(unconverted))
    }
}
