import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Where animations are transparent")
struct TransparencyTests {
    private static let size = 4

    private static func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(value).bigEndian) { Array($0) } }

    private static func control(_ sequence: Int) -> (name: String, contents: [UInt8]) {
        ("fcTL", number(sequence) + number(size) + number(size) + number(0) + number(0) + [0, 1, 0, 10, 0, 1])
    }

    /// Rows of indices into a palette.
    private static func rows(_ index: (_ x: Int) -> UInt8) -> [UInt8] {
        TestImage.stored((0..<size).flatMap { _ in [0] + (0..<size).map(index) })
    }

    /// An animation of two frames with a palette whose second colour is transparent.
    /// - Parameter controlsFirst: Whether the first control chunk comes before the palette, as APNG allows.
    private static func animation(controlsFirst: Bool) -> Data {
        let palette: [(name: String, contents: [UInt8])] = [("PLTE", [10, 20, 30, 200, 100, 50]), ("tRNS", [255, 0])]
        return TestImage.png(
            [("IHDR", number(size) + number(size) + [8, 3, 0, 0, 0]), ("acTL", number(2) + number(0))]
                + (controlsFirst ? [control(0)] + palette : palette + [control(0)])
                + [("IDAT", rows { UInt8($0 % 2) }), control(1), ("fdAT", number(2) + rows { $0 == 0 ? 0 : 1 })]
                + [("IEND", [])]
        )
    }

    @Test("A control chunk may come before the chunk that makes colours of an APNG transparent")
    func order() throws {
        let usual = try CoderRegistry.builtIn.decode(Self.animation(controlsFirst: false))
        let image = try CoderRegistry.builtIn.decode(Self.animation(controlsFirst: true))
        #expect(image.frameCount == 2 && image.pixels.hasAlpha)
        let pixel = image.pixels.straightAlpha.suffix(4)
        #expect(pixel.last == 0)
        for index in 0..<2 {
            let expected = try #require(usual.animation?.makeDecoder()).frame(at: index)
            #expect(
                try #require(image.animation?.makeDecoder()).frame(at: index).straightAlpha == expected.straightAlpha
            )
        }
    }

    @Test("The pixels that a first frame of a GIF lacks are transparent")
    func shortFrame() throws {
        // Given 8x8 pixels, of which the file has one: the codes clear, 1 and end, of three bits each
        let file = Data(
            Array("GIF89a".utf8) + [8, 0, 8, 0, 0x80, 0, 0, 10, 20, 30, 200, 100, 50]
                + [0x2C, 0, 0, 0, 0, 8, 0, 8, 0, 0, 2, 2, 0x4C, 0x01, 0, 0x3B]
        )
        let image = try CoderRegistry.builtIn.decode(file)
        #expect(image.pixels.hasAlpha)
        let pixels = image.pixels.straightAlpha
        #expect(Array(pixels.prefix(4)) == [200, 100, 50, 255])
        #expect(stride(from: 7, to: 256, by: 4).allSatisfy { pixels[$0] == 0 })
    }
}
