import Testing
import WebImageCore

@Suite("Colours of an image")
struct ImageColorTests {
    private func image(_ bytes: [UInt8], width: Int, _ format: PixelBuffer.Format) throws -> WebImage {
        let size = PixelSize(width: width, height: bytes.count / width / (format == .rgb ? 3 : 4))
        return WebImage(pixels: try #require(PixelBuffer(size: size, format: format) { $0.copyBytes(from: bytes) }))
    }

    @Test("A pixel has its colour with straight alpha")
    func point() throws {
        let opaque = try image([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], width: 2, .rgb)
        #expect(opaque.color(x: 1, y: 0) == ImageColor(0x040506) && opaque.color(x: 0, y: 1) == ImageColor(0x070809))
        let translucent = try image([128, 64, 0, 128, 0, 0, 0, 0], width: 2, .rgbaPremultiplied)
        #expect(translucent.color(x: 0, y: 0)?.rgba == 0xFF80_0080)
        #expect(translucent.color(x: 1, y: 0) == .clear)
    }

    @Test("A rectangle has its colours row by row")
    func rectangle() throws {
        let bytes = (0..<27).map { UInt8($0 / 3) }
        let image = try image(bytes, width: 3, .rgb)
        #expect(image.colors(x: 1..<3, y: 1..<3) == [0x040404, 0x050505, 0x070707, 0x080808].map { ImageColor($0) })
        #expect(image.colors(x: 2..<2, y: 0..<3) == [])
    }

    @Test("What is outside of the image has no colour", arguments: [-1, 3, Int.min, Int.max])
    func outside(position: Int) throws {
        let image = try image([UInt8](repeating: 0, count: 27), width: 3, .rgb)
        #expect(image.color(x: position, y: 0) == nil && image.color(x: 0, y: position) == nil)
        #expect(image.colors(x: 0..<4, y: 0..<1) == nil && image.colors(x: -1..<2, y: 0..<1) == nil)
    }
}
