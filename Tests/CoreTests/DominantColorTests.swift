import Testing
import WebImageCore

@Suite("Dominant colours")
struct DominantColorTests {
    /// An image whose pixels are given as 0xRRGGBBAA with straight alpha.
    private func image(_ width: Int, _ height: Int, _ rgba: (Int, Int) -> UInt32) throws -> WebImage {
        let size = PixelSize(width: width, height: height)
        let pixels = PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            for (index, start) in stride(from: 0, to: memory.count, by: 4).enumerated() {
                let color = rgba(index % width, index / width)
                for (channel, shift) in [24, 16, 8].enumerated() as EnumeratedSequence<[UInt32]> {
                    memory[start + channel] = UInt8(((color >> shift & 255) * (color & 255) + 127) / 255)
                }
                memory[start + 3] = UInt8(color & 255)
            }
        }
        return WebImage(pixels: try #require(pixels))
    }

    @Test("Colours come in the order of their areas, as many as are asked for", arguments: [10, 64, 1000])
    func areas(width: Int) throws {
        // Given half red, three tenths green and a fifth blue
        let image = try image(width, 40) { x, _ in
            x * 10 < width * 3 ? 0x00FF_00FF : x * 10 < width * 8 ? 0xFF00_00FF : 0x0000_FFFF
        }
        let colors = [ImageColor(0xFF0000), ImageColor(0x00FF00), ImageColor(0x0000FF)]
        #expect(image.dominantColors() == colors)
        #expect(image.dominantColors(count: 1) == [colors[0]])
        #expect(image.dominantColors(count: 9) == colors)
        #expect(image.dominantColors(count: 0) == [] && image.dominantColors(count: -1) == [])
    }

    @Test("Shades of one colour count together and give their mean")
    func shades() throws {
        // Given more of one red than of any blue, but more blue than red
        let image = try image(64, 64) { x, y in
            x < 24 ? 0xC81E_1EFF : 0x2040_00FF | UInt32(180 + (x * 7 + y * 13) % 41 - 20) << 8
        }
        let colors = image.dominantColors()
        #expect(colors.count == 2 && colors.last == ImageColor(0xC81E1E))
        let blue = try #require(colors.first).rgba >> 8
        #expect(blue & 0xFFFF00 == 0x204000 && abs(Int(blue & 255) - 180) < 4)
    }

    @Test("Pixels that are less than half opaque do not count, and others count with their own colour")
    func alpha() throws {
        let image = try image(30, 10) { x, _ in x < 20 ? 0xFF00_007F : 0x00FF_0080 }
        #expect(image.dominantColors() == [ImageColor(0x00FF00)])
        #expect(try self.image(8, 8) { _, _ in 0xFF00_0000 }.dominantColors() == [])
    }

    @Test("An image of one pixel has its colour")
    func single() throws {
        let pixels = PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0.copyBytes(from: [1, 2, 3]) }
        #expect(WebImage(pixels: try #require(pixels)).dominantColors() == [ImageColor(0x010203)])
    }
}
