import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Blending")
struct BlendTests {
    /// Pixels of every kind: transparent, opaque, grey, of one channel, and many at random.
    private static let samples: [UInt32] = {
        var samples: [UInt32] = [
            0, 0xFF00_0000, 0xFFFF_FFFF, 0x8080_8080, 0x8000_0000, 0x0101_0101, 0xFF00_00FF, 0xFF00_FF00,
        ]
        var random = SeededGenerator(seed: 7)
        while samples.count < 120 {
            let alpha = samples.count % 3 == 0 ? 255 : UInt32.random(in: 0...255, using: &random)
            let colors = (0..<3).map { UInt32.random(in: 0...alpha, using: &random) << ($0 * 8) }
            samples.append(alpha << 24 | colors.reduce(0, |))
        }
        return samples
    }()

    private func image(_ width: Int, _ pixels: [UInt32]) -> WebImage {
        let size = PixelSize(width: width, height: pixels.count / width)
        return WebImage(
            pixels: PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
                memory.copyBytes(from: pixels.withUnsafeBytes { Array($0) })
            }!
        )
    }

    private func pixels(_ image: WebImage?) throws -> [UInt32] {
        let buffer = try #require(image?.pixels.converted(to: .rgbaPremultiplied))
        return buffer.withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
    }

    /// A colour whose premultiplied pixel is a sample.
    private func color(of pixel: UInt32) -> ImageColor? {
        let alpha = pixel >> 24
        guard alpha > 0 else { return .clear }
        let straight = [0, 8, 16].map { UInt32((Double(pixel >> $0 & 255) * 255 / Double(alpha)).rounded()) }
        return ImageColor(straight[0] << 16 | straight[1] << 8 | straight[2], alpha: Double(alpha) / 255)
    }

    @Test(
        "Each mode gives the pixels that the specification says, and no colour exceeds its alpha",
        arguments: ImageTransformer.BlendMode.allCases
    )
    func specification(mode: ImageTransformer.BlendMode) throws {
        // Given all pairs of samples
        let (samples, count) = (Self.samples, Self.samples.count)
        let backdrop = image(count, samples.flatMap { [UInt32](repeating: $0, count: count) })
        let source = image(count, samples.flatMap { _ in samples })
        // When one is laid over the other
        let made = try pixels(ImageTransformer.overlay(source, key: "samples", blendMode: mode).transform(backdrop))
        // Then each is the exact result, rounded, or next to it where that divides by colours
        var (worst, worstPair) = (0, "")
        for (index, pixel) in made.enumerated() {
            let (under, top) = (samples[index / count], samples[index % count])
            let expected = Reference.pixel(top, over: under, mode)
            for shift in [UInt32(0), 8, 16, 24] {
                let difference = abs(Int(pixel >> shift & 255) - Int(expected >> shift & 255))
                if difference > worst {
                    (worst, worstPair) = (
                        difference, "\(hex(top)) over \(hex(under)): \(hex(pixel)), not \(hex(expected))"
                    )
                }
            }
        }
        #expect(made.allSatisfy { pixel in [0, 8, 16].allSatisfy { pixel >> $0 & 255 <= pixel >> 24 } })
        #expect(worst <= (Reference.isExact(mode) ? 0 : 1), "\(worstPair)")
    }

    private func hex(_ pixel: UInt32) -> String { String(pixel, radix: 16) }

    @Test(
        "A colour is laid over an image as an image of that colour is",
        arguments: ImageTransformer.BlendMode.allCases
    )
    func colors(mode: ImageTransformer.BlendMode) throws {
        let backdrop = image(Self.samples.count, Self.samples)
        for color in [
            ImageColor(0xFF8000), ImageColor(0x336699, alpha: 0.5), .clear, ImageColor(0x0000FF, alpha: .nan),
        ] {
            let pixel = try #require(
                try pixels(ImageTransformer.tint(color, blendMode: .sourceOver).transform(image(1, [0]))).first
            )
            let plain = image(1, [pixel])
            let tinted = ImageTransformer.tint(color, blendMode: mode).transform(backdrop)
            let overlaid = ImageTransformer.overlay(plain, key: "plain", blendMode: mode).transform(backdrop)
            #expect(try pixels(tinted) == pixels(overlaid), "\(color)")
        }
    }

    @Test(
        "An image without alpha gives the same as one with it, and has none afterwards",
        arguments: ImageTransformer.BlendMode.allCases
    )
    func opaque(mode: ImageTransformer.BlendMode) throws {
        let samples = Self.samples.map { $0 | 0xFF00_0000 }
        let backdrop = image(samples.count, samples)
        let plain = WebImage(pixels: try #require(backdrop.pixels.converted(to: .rgb)))
        let overlay = image(samples.count, Self.samples.reversed())
        for transformer in [
            ImageTransformer.overlay(overlay, key: "1", blendMode: mode),
            .tint(ImageColor(0x336699, alpha: 0.3), blendMode: mode),
        ] {
            let result = try #require(transformer.transform(plain))
            #expect(try pixels(result) == pixels(transformer.transform(backdrop)))
            #expect(!result.pixels.hasAlpha)
        }
        // An overlay without alpha covers what one with an alpha of 255 covers.
        let dense = ImageTransformer.overlay(plain, key: "2", blendMode: mode).transform(
            image(samples.count, Self.samples)
        )
        let other = ImageTransformer.overlay(backdrop, key: "3", blendMode: mode).transform(
            image(samples.count, Self.samples)
        )
        #expect(try pixels(dense) == pixels(other))
    }

    @Test("An overlay has its own size at its place, and what is beyond the edges is cut off")
    func places() throws {
        let (blank, dot) = (image(5, [UInt32](repeating: 0xFF00_0000, count: 25)), image(1, [0xFFFF_FFFF]))
        func lit(_ overlay: WebImage, at place: ImagePoint?) throws -> [Int] {
            try pixels(ImageTransformer.overlay(overlay, key: "1", at: place).transform(blank)).enumerated()
                .filter { $0.element == 0xFFFF_FFFF }.map(\.offset)
        }
        #expect(try lit(dot, at: .topLeft) == [0])
        #expect(try lit(dot, at: .center) == [12])
        #expect(try lit(dot, at: .bottomRight) == [24])
        #expect(try lit(dot, at: ImagePoint(x: .nan, y: -5)) == [2])
        #expect(try lit(dot, at: nil) == Array(0..<25))
        // One that is larger is cut off on both sides.
        let stripes = image(9, (0..<9).map { $0 == 2 || $0 == 6 ? 0xFFFF_FFFF : 0xFF00_0000 })
        #expect(try lit(stripes, at: .top) == [0, 4])
        // On a dense screen it has the size that it has in application pixels.
        let dense = WebImage(pixels: blank.pixels, scale: 2)
        let transformed = ImageTransformer.overlay(dot, key: "1", at: .topLeft).transform(dense)
        #expect(
            try pixels(transformed).enumerated().filter { $0.element == 0xFFFF_FFFF }.map(\.offset) == [0, 1, 5, 6]
        )
    }

    @Test("Keys tell colours, modes, names and places apart, and a plain tint has the key that it had")
    func keys() {
        let dot = image(1, [0xFFFF_FFFF])
        let transformers: [ImageTransformer] =
            [
                .tint(.black), .tint(.white), .overlay(dot, key: "1"), .overlay(dot, key: "2"),
                .overlay(dot, key: "1", at: .center), .overlay(dot, key: "1", at: .top), .inverted, .gamma(2),
                .gamma(3),
                .hueRotation(degrees: 1), .hueRotation(degrees: 2),
            ] + ImageTransformer.BlendMode.allCases.filter { $0 != .sourceAtop }.map { .tint(.black, blendMode: $0) }
            + ImageTransformer.BlendMode.allCases.filter { $0 != .sourceOver }.map {
                .overlay(dot, key: "1", blendMode: $0)
            }
        #expect(Set(transformers.map(\.key)).count == transformers.count)
        #expect(ImageTransformer.tint(.black).key == "tint(255)")
        #expect(ImageTransformer.tint(.black) == .tint(.black, blendMode: .sourceAtop))
    }

    @Test("An overlay that would be larger than any image fails instead of taking all memory")
    func huge() {
        let wide = WebImage(
            pixels: image(1, [0xFFFF_FFFF]).pixels,
            naturalSize: PixelSize(width: .max, height: .max)
        )
        let blank = image(5, [UInt32](repeating: 0xFF00_0000, count: 25))
        #expect(ImageTransformer.overlay(wide, key: "1", at: .center).transform(blank) == nil)
        #expect(ImageTransformer.overlay(wide, key: "1").transform(blank) != nil)
    }

    @Test("Inverting twice gives the image again, and a turn of the hue by a circle, too")
    func colorChanges() throws {
        let picture = image(Self.samples.count, Self.samples)
        #expect(try pixels((ImageTransformer.inverted + .inverted).transform(picture)) == Self.samples)
        let inverted = try pixels(ImageTransformer.inverted.transform(image(2, [0xFF00_00FF, 0x8000_0080])))
        #expect(inverted == [0xFFFF_FF00, 0x8080_8000])
        for degrees in [0, 360, -720, .nan, .infinity] {
            #expect(try pixels(ImageTransformer.hueRotation(degrees: degrees).transform(picture)) == Self.samples)
        }
        let turned = try pixels(ImageTransformer.hueRotation(degrees: 180).transform(image(1, [0xFF00_00FF])))[0]
        #expect(turned == 0xFF6D_6D00)
        #expect(
            try pixels(ImageTransformer.hueRotation(degrees: 90).transform(image(1, [0xFF80_8080]))) == [0xFF80_8080]
        )
    }

    @Test("Gamma is a power of the colour that is not multiplied by alpha")
    func gamma() throws {
        let picture = image(Self.samples.count, Self.samples)
        #expect(try pixels(ImageTransformer.gamma(1).transform(picture)) == Self.samples)
        #expect(try pixels(ImageTransformer.gamma(.nan).transform(picture)) == Self.samples)
        for exponent in [0.45, 2.2, 0, -3, 1e300] {
            let power = min(max(exponent, 0.001), 1000)
            let made = try pixels(ImageTransformer.gamma(exponent).transform(picture))
            for (before, after) in zip(Self.samples, made) {
                let alpha = Double(before >> 24)
                #expect(after >> 24 == before >> 24)
                for shift in [UInt32(0), 8, 16] where alpha > 0 {
                    let straight = Double(before >> shift & 255) / alpha
                    let expected = Reference.power(straight, power) * alpha
                    // The colour without alpha has 8 bits, too.
                    let isNear = abs(Double(after >> shift & 255) - expected) <= (alpha == 255 ? 0.5 : 2)
                    #expect(isNear || power < 0.01, "\(hex(before)) became \(hex(after)) with \(exponent)")
                }
            }
        }
    }
}
