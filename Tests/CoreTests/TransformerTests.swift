import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Transformers")
struct TransformerTests {
    private let red: UInt32 = 0xFF00_00FF
    private let green: UInt32 = 0xFF00_FF00
    private let clear: UInt32 = 0

    /// An image of pixels in storage order, from the top left.
    private func image(_ width: Int, _ pixels: [UInt32], scale: Double = 1) -> WebImage {
        let size = PixelSize(width: width, height: pixels.count / width)
        let buffer = PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            memory.copyBytes(from: pixels.withUnsafeBytes { Array($0) })
        }
        return WebImage(pixels: buffer!, scale: scale)
    }

    private func solid(_ width: Int, _ height: Int, _ color: UInt32, scale: Double = 1) -> WebImage {
        image(width, [UInt32](repeating: color, count: width * height), scale: scale)
    }

    private func pixels(_ image: WebImage?) throws -> [UInt32] {
        let source = try #require(image)
        let buffer = try #require(source.pixels.converted(to: .rgbaPremultiplied))
        return buffer.withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
    }

    private func alpha(_ image: WebImage?, _ x: Int, _ y: Int) throws -> UInt32 {
        let image = try #require(image)
        return try pixels(image)[y * image.pixelSize.width + x] >> 24
    }

    @Test("Resizing fits, covers, stretches or letterboxes, also to a larger size")
    func resize() throws {
        let wide = image(4, [red, red, green, green, red, red, green, green])
        func sized(_ mode: ImageTransformer.ResizeMode, _ width: Int, _ height: Int) throws -> WebImage {
            let transformer = ImageTransformer.resize(to: PixelSize(width: width, height: height), mode: mode)
            return try #require(transformer.transform(wide))
        }
        #expect(try sized(.contain, 2, 2).pixelSize == PixelSize(width: 2, height: 1))
        #expect(try pixels(try sized(.contain, 2, 2)) == [red, green])
        // The middle is kept.
        #expect(try pixels(try sized(.cover, 2, 2)) == [red, green, red, green])
        #expect(try pixels(try sized(.stretch, 1, 1)) == [0xFF00_8080])
        #expect(try pixels(try sized(.letterbox, 2, 3)) == [clear, clear, red, green, clear, clear])
        let large = try sized(.contain, 8, 8)
        #expect(large.pixelSize == PixelSize(width: 8, height: 4) && large.naturalSize == large.pixelSize)
        #expect(try pixels(large)[0] == red && pixels(large)[7] == green)
        #expect(ImageTransformer.resize(to: PixelSize(width: 0, height: 4)).transform(wide) == nil)
    }

    @Test("Transparent pixels add no colour when an image is downsampled")
    func resizeAlpha() throws {
        let half = image(2, [red, clear])
        let small = ImageTransformer.resize(to: PixelSize(width: 1, height: 1), mode: .stretch).transform(half)
        #expect(try pixels(small) == [0x8000_0080])
    }

    @Test("Cropping keeps the pixels inside the rectangle; an empty intersection fails")
    func crop() throws {
        let picture = image(3, [red, green, red, green, red, green])
        #expect(
            try pixels(ImageTransformer.crop(to: PixelRect(x: 1, y: 0, width: 5, height: 1)).transform(picture)) == [
                green, red,
            ]
        )
        #expect(ImageTransformer.crop(to: PixelRect(x: 3, y: 0, width: 1, height: 1)).transform(picture) == nil)
        #expect(ImageTransformer.crop(to: PixelRect(x: 0, y: 0, width: -1, height: 1)).transform(picture) == nil)
    }

    @Test("A crop keeps its focus in view, as near to the middle as the edges allow")
    func focus() throws {
        // Given a row of nine pixels, of which each names its place
        let row = image(9, (0..<9).map { 0xFF00_0000 | UInt32($0) })
        func places(_ transformer: ImageTransformer) throws -> [UInt32] {
            try pixels(transformer.transform(row)).map { $0 & 0xFF }
        }
        let size = PixelSize(width: 3, height: 1)
        for (x, expected) in [
            (0.0, [0, 1, 2]), (0.5 / 9, [0, 1, 2]), (2.5 / 9, [1, 2, 3]), (0.5, [3, 4, 5]), (1, [6, 7, 8]),
            (-3, [0, 1, 2]), (9, [6, 7, 8]), (.nan, [3, 4, 5]), (.infinity, [6, 7, 8]), (-.infinity, [0, 1, 2]),
        ] as [(Double, [UInt32])] {
            let focus = ImagePoint(x: x, y: .nan)
            #expect(try places(.crop(to: size, focus: focus)) == expected, "crop at \(x)")
            #expect(try places(.resize(to: size, mode: .cover, focus: focus)) == expected, "cover at \(x)")
        }
        let wide = image(30, (0..<300).map { [red, green, clear][$0 % 30 / 10] })
        for (focus, color) in [(ImagePoint.left, red), (.center, green), (.right, clear)] {
            #expect(try pixels(ImageTransformer.circle(focus: focus).transform(wide))[5 * 10 + 5] == color)
        }
        // It stays as it is without a crop.
        #expect(try places(.crop(to: PixelSize(width: 99, height: 99), focus: .bottomRight)) == Array(0..<9))
        #expect(try places(.resize(to: PixelSize(width: 9, height: 9), mode: .contain, focus: .right)) == Array(0..<9))
        #expect(ImageTransformer.crop(to: PixelSize(width: 0, height: 1)).transform(row) == nil)
        #expect(ImageTransformer.crop(to: PixelSize(width: -4, height: .min)).transform(row) == nil)
        // What is larger than the image is covered around the focus, too.
        let large = ImageTransformer.resize(to: PixelSize(width: 30, height: 10), mode: .cover, focus: .right)
            .transform(row)
        #expect(large?.pixelSize == PixelSize(width: 30, height: 10))
        #expect(try pixels(large).last == 0xFF00_0008)
    }

    @Test("Equal crops have equal keys, and those around another point have others")
    func focusKeys() {
        let size = PixelSize(width: 3, height: 1)
        for make in [
            { ImageTransformer.crop(to: size, focus: $0) }, { .resize(to: size, mode: .cover, focus: $0) },
            { .circle(focus: $0) },
        ] as [(ImagePoint) -> ImageTransformer] {
            let keys = [.center, .top, .left, .topLeft, ImagePoint(x: 0.25, y: 0.5)].map { make($0).key }
            #expect(Set(keys).count == keys.count, "\(keys)")
            #expect(make(ImagePoint(x: -0.0, y: -2)) == make(.topLeft))
            #expect(make(ImagePoint(x: .nan, y: 0.5)) == make(.center))
        }
        #expect(ImageTransformer.resize(to: size, mode: .cover).key == "resize(3x1,cover)")
        #expect(ImageTransformer.circle().key == "square circle()")
        // Only a crop leaves something out.
        #expect(ImageTransformer.resize(to: size, mode: .contain, focus: .top) == .resize(to: size))
    }

    @Test("The chosen corners are rounded with smooth edges, and the radius is in application pixels")
    func rounded() throws {
        let picture = solid(20, 20, red)
        let round = ImageTransformer.rounded(6, corners: [.topLeft, .bottomRight]).transform(picture)
        #expect(try alpha(round, 0, 0) == 0 && alpha(round, 19, 19) == 0)
        #expect(try alpha(round, 19, 0) == 255 && alpha(round, 0, 19) == 255 && alpha(round, 10, 0) == 255)
        let edge = try alpha(round, 1, 2)
        #expect(edge > 0 && edge < 255)
        // Each of two corners lacks what a quarter circle of radius 6 leaves of its square: 36 - 9 pi pixels.
        let sum = try pixels(round).reduce(0.0) { $0 + Double($1 >> 24) / 255 }
        #expect(abs(400 - sum - 2 * (36 - 9 * Double.pi)) < 0.5)
        // Colours stay premultiplied.
        #expect(try pixels(round).allSatisfy { $0 & 0xFF == $0 >> 24 })
        let dense = ImageTransformer.rounded(3).transform(solid(20, 20, red, scale: 2))
        #expect(try pixels(dense) == pixels(ImageTransformer.rounded(6).transform(picture)))
        #expect(try pixels(ImageTransformer.rounded(0).transform(picture)) == pixels(picture))
    }

    @Test(
        "Images of one pixel's width or height are rounded, too",
        arguments: [(1, 5), (1, 600), (5, 1), (1, 1), (2, 9)]
    )
    func thin(width: Int, height: Int) throws {
        let picture = solid(width, height, red)
        for border in [nil, ImageBorder(width: 3, color: ImageColor(0x00FF00))] {
            #expect(try pixels(ImageTransformer.rounded(12, border: border).transform(picture)).count == width * height)
            #expect(ImageTransformer.circle(border: border).transform(picture) != nil)
        }
        // The middle of a line is not rounded away.
        let middle = try alpha(ImageTransformer.rounded(12).transform(picture), width / 2, height / 2)
        #expect(middle > 0)
    }

    @Test("New pixels of an app's step keep the scale, the format and, if they are as many, the natural size")
    func newPixels() throws {
        let source = WebImage(
            pixels: solid(20, 10, red).pixels,
            naturalSize: PixelSize(width: 200, height: 100),
            scale: 2,
            format: .jpeg,
            isPartial: true
        )
        let same = ImageTransformer.custom(key: "same") { WebImage(pixels: $0.pixels) }.transform(source)
        #expect(same?.naturalSize == source.naturalSize && same?.scale == 2)
        #expect(same?.format == .jpeg && same?.isPartial == true)
        let fewer = ImageTransformer.custom(key: "fewer") { [self] _ in solid(5, 5, red) }.transform(source)
        #expect(fewer?.naturalSize == PixelSize(width: 5, height: 5) && fewer?.scale == 2)
        let own = ImageTransformer.custom(key: "own") {
            WebImage(pixels: $0.pixels, naturalSize: PixelSize(width: 40, height: 20), scale: 4, format: .png)
        }
        let chosen = own.transform(source)
        #expect(chosen?.naturalSize.width == 40 && chosen?.scale == 4 && chosen?.format == .png)
    }

    @Test("A circle is cut out of the middle, with a border of the given width")
    func circle() throws {
        let border = ImageBorder(width: 2, color: ImageColor(0x00FF00))
        let picture = try #require(ImageTransformer.circle(border: border).transform(solid(30, 20, red)))
        #expect(picture.pixelSize == PixelSize(width: 20, height: 20))
        #expect(picture.naturalSize == PixelSize(width: 20, height: 20))
        let all = try pixels(picture)
        #expect(all[0] == 0 && all[10 * 20 + 10] == red && all[10 * 20 + 1] == green)
        #expect(all[10 * 20] >> 24 > 240 && all[10 * 20] & 0xFF == 0)
        let covered = all.reduce(0.0) { $0 + Double($1 >> 24) / 255 }
        #expect(abs(covered - 100 * Double.pi) < 1)
    }

    @Test("An image that is cut to a circle fills the box, whatever its shape")
    func circleInBox() async throws {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: PixelSize(width: 30, height: 60)))
        var request = ImageRequest(url: fixture.url("a"), decodeSize: .contain(PixelSize(width: 40, height: 20)))
        request.transformer = .circle()
        #expect(try await fixture.manager.image(for: request).pixelSize == PixelSize(width: 20, height: 20))
    }

    @Test("An image that is resized to cover another shape is decoded at a size that covers it")
    func coveredShape() async throws {
        let fixture = ManagerFixture()
        let (tall, square) = (PixelSize(width: 30, height: 60), PixelSize(width: 20, height: 20))
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: tall))
        var request = ImageRequest(url: fixture.url("a"), decodeSize: .contain(square))
        request.transformer = .resize(to: square, mode: .cover) + .rounded(4)
        let image = try await fixture.manager.image(for: request)
        #expect(image.decodedSize == PixelSize(width: 20, height: 40) && image.pixelSize == square)
        #expect(fixture.manager.cachedImage(for: request) == image)
    }

    @Test("Rotation by quarters is exact; by other angles the image grows or its corners are cut off")
    func rotate() throws {
        let picture = image(2, [red, green])
        #expect(try pixels(ImageTransformer.rotate(degrees: 90).transform(picture)) == [red, green])
        #expect(ImageTransformer.rotate(degrees: 90).transform(picture)?.pixelSize == PixelSize(width: 1, height: 2))
        #expect(try pixels(ImageTransformer.rotate(degrees: -180).transform(picture)) == [green, red])
        let square = solid(20, 20, red)
        let grown = try #require(ImageTransformer.rotate(degrees: 45).transform(square))
        #expect(grown.pixelSize == PixelSize(width: 29, height: 29))
        #expect(try alpha(grown, 0, 0) == 0 && alpha(grown, 14, 14) == 255)
        let covered = try pixels(grown).reduce(0.0) { $0 + Double($1 >> 24) / 255 }
        #expect(abs(covered - 400) < 4)
        let kept = ImageTransformer.rotate(degrees: 45, growsToFit: false).transform(square)
        #expect(kept?.pixelSize == PixelSize(width: 20, height: 20))
        #expect(try alpha(kept, 0, 0) == 0)
    }

    @Test("Flipping mirrors")
    func flip() throws {
        let picture = image(2, [red, green, green, green])
        #expect(try pixels(ImageTransformer.flip(horizontally: true).transform(picture)) == [green, red, green, green])
        #expect(try pixels(ImageTransformer.flip(vertically: true).transform(picture)) == [green, green, red, green])
    }

    @Test("A tint colours opaque pixels by the share of its alpha")
    func tint() throws {
        let picture = image(3, [red, clear, 0x8000_0080])
        #expect(
            try pixels(ImageTransformer.tint(ImageColor(0x00FF00)).transform(picture)) == [green, clear, 0x8000_8000]
        )
        let half = try pixels(ImageTransformer.tint(ImageColor(0x00FF00, alpha: 0.5)).transform(picture))
        #expect(half[0] == 0xFF00_807F && half[1] == clear)
    }

    @Test("A blur spreads a point like a Gaussian, preserves the sum and leaves solid images alone")
    func blur() throws {
        var points = [UInt32](repeating: 0xFF00_0000, count: 41 * 41)
        points[20 * 41 + 20] = 0xFFFF_FFFF
        // The image is brighter, so that rounding does not matter.
        for y in 18...22 { for x in 18...22 { points[y * 41 + x] = 0xFFFF_FFFF } }
        let blurred = try pixels(ImageTransformer.blur(3).transform(image(41, points)))
        let total = blurred.reduce(0.0) { $0 + Double($1 & 255) }
        #expect(abs(total / (25 * 255) - 1) < 0.03)
        let variance =
            blurred.enumerated().reduce(0.0) { sum, pixel in
                sum + Double(pixel.element & 255) * Double((pixel.offset % 41 - 20) * (pixel.offset % 41 - 20))
            } / total
        // The variance is that of the square plus that of the Gaussian.
        #expect(abs(variance - (2 + 9)) < 1.5)
        let even = solid(30, 10, 0x8012_3456)
        #expect(try pixels(ImageTransformer.blur(4).transform(even)) == pixels(even))
        #expect(try pixels(ImageTransformer.blur(0).transform(even)) == pixels(even))
        #expect(try pixels(ImageTransformer.blur(50).transform(solid(3, 2, red))) == pixels(solid(3, 2, red)))
    }

    @Test("Filters change colours but not alpha, and no colour exceeds its alpha")
    func colors() throws {
        let picture = image(3, [red, 0xFF80_8080, 0x8000_0080])
        func changed(_ transformer: ImageTransformer) throws -> [UInt32] { try pixels(transformer.transform(picture)) }
        #expect(try changed(.brightness(1)) == [0xFFFF_FFFF, 0xFFFF_FFFF, 0x8080_8080])
        #expect(try changed(.brightness(-1)) == [0xFF00_0000, 0xFF00_0000, 0x8000_0000])
        #expect(try changed(.contrast(1)) == pixels(picture) && changed(.saturation(1)) == pixels(picture))
        #expect(try changed(.contrast(0)) == [0xFF80_8080, 0xFF80_8080, 0x8040_4040])
        #expect(try changed(.grayscale) == [0xFF36_3636, 0xFF80_8080, 0x801B_1B1B])
        #expect(try changed(.sepia)[0] == 0xFF45_5964)
    }

    @Test("Steps run in order, equal keys mean equal images, and a failing step fails the transformer")
    func pipeline() throws {
        let both = ImageTransformer.rounded(4) + .grayscale
        #expect(both.key == "rounded(4.0,15) saturation(0.0)" && both.steps.count == 2)
        #expect(both.key != (ImageTransformer.grayscale + .rounded(4)).key)
        let nothing = ImageTransformer.custom(key: "nothing") { _ in nil }
        #expect((both + nothing + both).transform(solid(9, 9, red)) == nil)
        #expect(ImageTransformer([]).transform(solid(9, 9, red)) != nil)
    }

    @Test("A step of the app equals no step of the library and no other steps, whatever its key is")
    func distinctKeys() {
        // Given steps of an app with the names of others
        func own(_ key: String) -> ImageTransformer { .custom(key: key) { $0 } }
        let dot = solid(1, 1, red)
        let transformers: [ImageTransformer] = [
            .sepia, own(ImageTransformer.sepia.key), .circle(),
            ImageTransformer(NamedStep(key: ImageTransformer.circle().key)),
            own("a b"), own("a") + own("b"), own("a) custom(1:b"),
            own("a") + own("b") + own("c"), own("a b") + own("c"),
            .overlay(dot, key: "x") + .grayscale, .overlay(dot, key: "x) saturation(0.0"),
        ]
        // Then none is another one
        #expect(Set(transformers).count == transformers.count)
        #expect(own("a") == ImageTransformer(NamedStep(key: "a")))
    }

    @Test("A loaded image of a step of the app is not that of the step of the library with this name")
    func distinctImages() {
        // Given an image in sepia in the memory cache
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(1, size: PixelSize(width: 9, height: 9)))
        fixture.load("a", transformer: .sepia)
        #expect(fixture.outcomes.wait { $0.count == 1 })
        // When a step of the app with that name makes another one
        let white = solid(5, 3, 0xFFFF_FFFF)
        fixture.load("a", transformer: .custom(key: ImageTransformer.sepia.key) { _ in white })
        #expect(fixture.outcomes.wait { $0.count == 2 })
        // Then it is made
        guard case .image(let size, let source) = fixture.outcomes.all.last else {
            Issue.record("\(fixture.outcomes.all)")
            return
        }
        #expect(size == white.pixelSize && source != .memory)
    }

    @Test("Modifiers that follow one another equal those with the same keys in the same order, and no others")
    func modifiers() {
        func request(_ key: String) -> RequestModifier { RequestModifier(key: key) { $0 } }
        #expect(request("a").then(request("b c")) != request("a b").then(request("c")))
        #expect(request("a").then(request("b")) == request("a").then(request("b")))
        #expect(request("a").then(request("b")) != request("b").then(request("a")))
        func response(_ key: String) -> ResponseModifier { ResponseModifier(key: key) { $0 } }
        #expect(response("a").then(response("b c")) != response("a b").then(response("c")))
    }

    @Test("An animation is transformed frame by frame, when each frame is decoded")
    func animated() async throws {
        let fixture = ManagerFixture()
        let url = fixture.url("ball.gif")
        fixture.loader.answer(url, with: ShippedImage.data("bouncing-ball.gif"))
        let size = PixelSize(width: 20, height: 20)
        let transformer = ImageTransformer.resize(to: size, mode: .stretch) + .circle()
        let image = try await fixture.manager.response(for: ImageRequest(url: url, transformer: transformer)).image
        let animation = try #require(image.animation)
        #expect(image.pixelSize == size && animation.size == size && animation.hasAlpha && animation.frameCount > 1)
        let decoder = animation.makeDecoder()
        #expect(try decoder.frame(at: 0).withUnsafeBytes { Array($0) } == image.pixels.withUnsafeBytes { Array($0) })
        let last = try decoder.frame(at: animation.frameCount - 1)
        #expect(last.size == size && last.withUnsafeBytes { $0[3] } == 0)
    }

    @Test("Loads of one URL with the same first steps share the decode and those steps")
    func sharedSteps() {
        let fixture = ManagerFixture(holdsResponses: true)
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.quarters(size: PixelSize(width: 40, height: 40)))
        let runs = EventLog<String>()
        func counted(_ name: String) -> ImageTransformer {
            .custom(key: name) { image in
                runs.add(name)
                return image
            }
        }
        for last in ["b", "c", "d"] { fixture.load("a", transformer: counted("first") + counted(last)) }
        fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.finish(url)
        #expect(fixture.outcomes.wait { $0.count == 4 })
        #expect(fixture.decodes.count == 1)
        #expect(runs.all.sorted() == ["b", "c", "d", "first"])
    }
}

private struct NamedStep: ImageTransforming {
    let key: String

    func transform(_ image: WebImage) -> WebImage? { image }
}
