import Testing
import WebImageCore

@Suite("Decode sizes")
struct DecodeSizeTests {
    private let natural = PixelSize(width: 1600, height: 1200)
    private let box = PixelSize(width: 256, height: 256)

    @Test(".contain stays within the box")
    func fit() {
        #expect(DecodeSize.contain(box).target(for: natural) == PixelSize(width: 256, height: 192))
    }

    @Test(".cover covers the box")
    func fill() {
        #expect(DecodeSize.cover(box).target(for: natural) == PixelSize(width: 341, height: 256))
    }

    @Test(".stretch takes the size of the box")
    func stretch() {
        #expect(DecodeSize.stretch(box).target(for: natural) == box)
    }

    @Test("A box on a screen with a fractional scale has the device pixels of that scale")
    func fractionalScale() {
        #expect(PixelSize(width: 160, height: 120).scaled(by: 1.5) == PixelSize(width: 240, height: 180))
        #expect(PixelSize(width: 101, height: 33).scaled(by: 1.25) == PixelSize(width: 127, height: 42))
        #expect(PixelSize(width: 101, height: 33).scaled(by: 2) == PixelSize(width: 202, height: 66))
    }

    @Test("An image is never upscaled", arguments: [DecodeSize.contain, DecodeSize.cover, DecodeSize.stretch])
    func neverUp(make: @Sendable (PixelSize) -> DecodeSize) {
        let small = PixelSize(width: 20, height: 10)
        #expect(make(box).target(for: small) == small)
    }

    @Test("A very narrow image keeps a width of at least one pixel")
    func atLeastOne() {
        let long = PixelSize(width: 1, height: 100_000)
        #expect(
            DecodeSize.contain(PixelSize(width: 10, height: 10)).target(for: long) == PixelSize(width: 1, height: 10)
        )
    }

    @Test("An empty box means the size of the source")
    func emptyBox() {
        #expect(DecodeSize.contain(PixelSize(width: 0, height: 0)).target(for: natural) == natural)
    }
}
