import FoundationEssentials
import Testing
import WebImageCore

/// Compares both hashes with the reference implementations of their authors.
@Suite("Placeholders from hashes")
struct HashTests {
    private func image(_ width: Int, _ height: Int, alpha: Bool = false, _ color: (Int, Int) -> [Int]) -> WebImage {
        let size = PixelSize(width: width, height: height)
        let pixels = PixelBuffer(size: size, format: alpha ? .rgbaPremultiplied : .rgb) { memory in
            var offset = 0
            for y in 0..<height {
                for x in 0..<width {
                    let color = color(x, y)
                    for channel in 0..<(alpha ? 4 : 3) {
                        let value = channel < 3 && alpha ? (color[channel] * color[3] + 127) / 255 : color[channel]
                        memory[offset] = UInt8(value)
                        offset += 1
                    }
                }
            }
        }
        return WebImage(pixels: pixels!)
    }

    private func pixel(_ image: WebImage, _ x: Int, _ y: Int) -> [Int] {
        let count = image.pixels.format.bytesPerPixel
        let offset = y * image.pixels.bytesPerRow + x * count
        return image.pixels.withUnsafeBytes { $0[offset..<offset + count].map(Int.init) }
    }

    private func expect(_ image: WebImage, _ x: Int, _ y: Int, _ expected: [Int], within limit: Int = 2) {
        let found = pixel(image, x, y)
        #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= limit }, "(\(x), \(y)) is \(found), not \(expected)")
    }

    @Test("A BlurHash is decoded to the image of the reference implementation")
    func blurHash() throws {
        let hash = try #require(BlurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj"))
        #expect(hash.components == (4, 3))
        let image = try #require(hash.image())
        for (x, y, color) in [
            (0, 0, [135, 164, 177]), (31, 0, [137, 166, 181]), (0, 31, [136, 144, 147]), (16, 16, [158, 125, 108]),
        ] { expect(image, x, y, color) }
        #expect(hash.image(size: PixelSize(width: 7, height: 3))?.pixelSize == PixelSize(width: 7, height: 3))
    }

    @Test("An image is encoded to the BlurHash of the reference implementation")
    func makeBlurHash() throws {
        let picture = image(64, 48) { x, y in [x * 16 % 256, y * 20 % 256, x * y * 3 % 256] }
        #expect(BlurHash(of: picture)?.string == "LBGuwS2-fL2,vPawfNawdFf4fNf4")
        #expect(BlurHash(of: picture, x: 1, y: 1)?.string == "00GuwS")
        #expect(BlurHash(of: picture, x: 9, y: 9)?.string.hasPrefix("|bGuwSK0fNK0fOFsfN2p") == true)
        #expect(BlurHash(of: picture, x: 10, y: 1) == nil)
    }

    @Test(
        "An invalid BlurHash is rejected",
        arguments: ["", "LEHV6n", "LEHV6nWB2yk8pyo0adR*.7kCMdn", "\"\"\"\"\"\"", "zzzzzzzz"]
    )
    func noBlurHash(text: String) {
        #expect(BlurHash(text) == nil)
    }

    @Test("An image is encoded to the ThumbHash of the reference implementation and resembles it when decoded")
    func thumbHash() throws {
        let picture = image(64, 48) { x, y in [x * 4 % 256, y * 5 % 256, (x + y) % 256] }
        let hash = try #require(ThumbHash(of: picture))
        #expect(hash.data.base64EncodedString() == "GRoOJZpwd3dxiIiHiHiIh3GACPeH")
        #expect(hash == ThumbHash(base64: "GRoOJZpwd3dxiIiHiHiIh3GACPeH") && abs(hash.aspectRatio - 1.4) < 0.01)
        let blurred = try #require(hash.image)
        #expect(blurred.pixelSize == PixelSize(width: 32, height: 23))
        for (x, y) in [(6, 5), (16, 11), (26, 18)] {
            expect(blurred, x, y, [x * 8, y * 48 / 23 * 5, x * 2 + y * 2], within: 30)
        }
    }

    @Test(
        "A ThumbHash has the shape of a long image, as in the reference implementation",
        arguments: [(100, 20, 7.0), (20, 100, 1 / 7.0), (70, 20, 3.5), (300, 20, 7.0), (90, 90, 1.0)]
    )
    func thumbHashShape(width: Int, height: Int, ratio: Double) throws {
        // Given images, some of which are longer than 7:3
        let hash = try #require(ThumbHash(of: image(width, height) { x, y in [x % 256, y, 90] }))
        // Then the shape is that of thumbHashToApproximateAspectRatio
        #expect(abs(hash.aspectRatio - ratio) < 0.001)
        let size = try #require(hash.image).pixelSize
        let drawn = Double(size.width) / Double(size.height)
        #expect(abs(drawn / ratio - 1) < 0.15, "\(size)")
    }

    @Test("A ThumbHash without a shape is drawn")
    func shapeless() throws {
        // Given a hash whose number of components is 0
        var data = try #require(ThumbHash(base64: "GRoOJZpwd3dxiIiHiHiIh3GACPeH")).data
        data[3] &= 0xF8
        // Then it is taken for the longest one
        #expect(ThumbHash(data).map { $0.aspectRatio } == 7)
        #expect(ThumbHash(data)?.image != nil)
    }

    @Test("A ThumbHash keeps alpha")
    func thumbHashAlpha() throws {
        let picture = image(32, 64, alpha: true) { _, y in [200, 100, 60, y < 32 ? 255 : 0] }
        let hash = try #require(ThumbHash(of: picture))
        let blurred = try #require(hash.image)
        #expect(hash.aspectRatio < 1 && blurred.pixels.hasAlpha && blurred.pixelSize.height == 32)
        let (top, bottom) = (pixel(blurred, 8, 4), pixel(blurred, 8, 28))
        #expect(top[3] > 200 && bottom[3] < 55)
        #expect(abs(top[0] * 255 / top[3] - 200) < 25 && abs(top[1] * 255 / top[3] - 100) < 25)
    }

    @Test("Arbitrary bytes are a ThumbHash or are rejected")
    func anyBytes() {
        var state: UInt64 = 1
        for length in 0..<80 {
            var data = Data()
            for _ in 0..<length {
                state = state &* 6_364_136_223_846_793_005 &+ 1
                data.append(UInt8(truncatingIfNeeded: state >> 40))
            }
            if let hash = ThumbHash(data) { #expect(hash.image != nil && hash.aspectRatio > 0) }
        }
        #expect(ThumbHash(base64: "no base64 at all!") == nil)
    }
}
