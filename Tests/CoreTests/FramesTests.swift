import FoundationEssentials
import Testing
import WebImageCore
import WebImageTesting

@Suite("Animations of images that an app has")
struct FramesTests {
    private func image(_ color: UInt32, _ width: Int = 4) throws -> WebImage {
        let pixels = PixelBuffer(size: PixelSize(width: width, height: width), format: .rgb) { memory in
            for index in memory.indices {
                memory[index] = UInt8(truncatingIfNeeded: color >> (16 - 8 * UInt32(index % 3)))
            }
        }
        return WebImage(pixels: try #require(pixels))
    }

    private func colors(_ image: WebImage) throws -> [ImageColor?] {
        let animation = try #require(image.animation)
        let decoder = animation.makeDecoder()
        return try (0..<animation.frameCount).map { WebImage(pixels: try decoder.frame(at: $0)).color(x: 0, y: 0) }
    }

    @Test("Images and their durations become the frames, in their order, and players may go backwards")
    func frames() throws {
        let frames = [try image(0xFF0000), try image(0x00FF00)]
        let durations: [Duration] = [.milliseconds(40), .seconds(2)]
        let made = try #require(WebImage(frames: frames, durations: durations, loopCount: 3))
        #expect(made.frameCount == 2 && made.loopCount == 3 && made.pixelSize == PixelSize(width: 4, height: 4))
        #expect(made.animation?.durations == [.milliseconds(40), .seconds(2)])
        #expect(try colors(made) == [ImageColor(0xFF0000), ImageColor(0x00FF00)])
        let decoder = try #require(made.animation?.makeDecoder())
        for index in [1, 0, 1] { #expect(try decoder.frame(at: index).size == made.pixelSize) }
        // Both frames stay in memory.
        #expect(made.byteCount == 2 * 4 * 4 * 3)
    }

    @Test("An animation without frames is none, also after one that plays")
    func noFrames() throws {
        func image(_ count: Int) throws -> WebImage {
            let size = PixelSize(width: 2, height: 2)
            let pixels = try #require(
                PixelBuffer(size: size, format: .rgb) { _ = $0.initializeMemory(as: UInt8.self, repeating: 1) }
            )
            let durations = [Duration](repeating: .milliseconds(100), count: count)
            let animation = ImageAnimation(
                durations: durations,
                loopCount: 0,
                size: size,
                hasAlpha: false,
                byteCount: 0
            ) {
                OneFrame(pixels: pixels)
            }
            return WebImage(pixels: pixels, animation: animation)
        }
        #expect(try image(0).animation == nil && image(0).frameCount == 1 && image(3).frameCount == 3)
    }

    private final class OneFrame: FrameDecoding {
        let pixels: PixelBuffer

        init(pixels: PixelBuffer) { self.pixels = pixels }

        func frame(at index: Int) throws(ImageError) -> PixelBuffer { pixels }
    }

    @Test("Images of other sizes are scaled to that of the first, one is a still image, and none is none")
    func odd() throws {
        let frames = [try image(0xFF0000, 4), try image(0x0000FF, 9)]
        let made = try #require(WebImage(frames: frames, durations: [.zero, .seconds(1 << 40)], loopCount: -5))
        #expect(try colors(made) == [ImageColor(0xFF0000), ImageColor(0x0000FF)])
        #expect(try made.animation?.makeDecoder().frame(at: 1).size == PixelSize(width: 4, height: 4))
        #expect(made.animation?.durations == [.milliseconds(100), .seconds(86_400)] && made.loopCount == 0)
        let still = try #require(WebImage(frames: [frames[0]], durations: [.zero]))
        #expect(still.animation == nil && still.pixelSize == PixelSize(width: 4, height: 4))
        #expect(WebImage(frames: [], durations: []) == nil && WebImage(frames: frames, durations: [.zero]) == nil)
    }

    @Test("Images and responses print what they are, without what a URL keeps secret")
    func descriptions() throws {
        let red = try image(0xFF0000)
        #expect("\(red)" == "image, 4x4")
        let small = WebImage(
            pixels: red.pixels,
            naturalSize: PixelSize(width: 8, height: 8),
            format: .png,
            isPartial: true
        )
        #expect("\(small)" == "png image, 8x8, decoded at 4x4, partial")
        let made = try #require(WebImage(frames: [red, red], durations: [.seconds(1), .seconds(1)]))
        #expect("\(made)" == "image, 4x4, 2 frames")
        let url = try #require(URL(string: "https://u:p@example.org/a.png?token=secret"))
        let text = "\(Result<ImageResponse, ImageError>.success(ImageResponse(image: red, source: .disk, url: url)))"
        #expect(text.contains("image, 4x4 from disk <https://example.org/a.png") && !text.contains("secret"))
    }

    @Test(
        "The error for damaged bytes says where to look",
        arguments: [
            ("https://example.org/a", "server"), ("file:///a", "file"), ("data:,a", "data in the URL"),
            ("app:a", "bytes"),
        ]
    )
    func remedies(text: String, place: String) {
        var options = DecodeOptions()
        options.url = URL(string: text)
        #expect(options.badData("Damaged").remedy.contains(place))
        #expect(options.badData("Damaged").remedy.contains("server") == text.hasPrefix("https"))
    }
}
