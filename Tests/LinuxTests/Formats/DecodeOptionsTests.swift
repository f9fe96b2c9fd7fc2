import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Decode options")
struct DecodeOptionsTests {
    private let registry = CoderRegistry.builtIn

    @Test(
        "A huge image is decoded within a byte limit and never upscaled",
        arguments: ["cat.jpg", "butterfly.png", "aurora.webp", "pinwheel.gif"]
    )
    func within(name: String) throws {
        let data = ShippedImage.data(name)
        let whole = try registry.decode(data)
        let limit = whole.pixelSize.width * whole.pixelSize.height
        let small = try registry.decode(data, options: DecodeOptions(size: .within(byteCount: limit)))
        let count = small.pixelSize.width * small.pixelSize.height * 4
        #expect(count <= limit && count > limit * 9 / 10)
        #expect(small.naturalSize == whole.pixelSize)
        let large = try registry.decode(data, options: DecodeOptions(size: .within(byteCount: .max)))
        #expect(large.pixelSize == whole.pixelSize)
    }

    @Test("The size within a byte limit keeps the aspect ratio and is at least one pixel")
    func sizes() {
        let natural = PixelSize(width: 4000, height: 1000)
        #expect(DecodeSize.within(byteCount: 1_000_000).target(for: natural) == PixelSize(width: 1000, height: 250))
        #expect(DecodeSize.within(byteCount: 0).target(for: natural) == PixelSize(width: 1, height: 1))
        let line = PixelSize(width: 1_000_000, height: 1)
        #expect(DecodeSize.within(byteCount: 400).target(for: line) == PixelSize(width: 100, height: 1))
    }

    @Test(
        "A header that lies about its size is an error, however high the limit of pixels is",
        arguments: LyingFile.all
    )
    func lies(file: LyingFile) {
        #expect(ImageFormat(sniffing: file.data) == file.format)
        let options = DecodeOptions(maximumPixelCount: .max)
        let error = thrownError { try registry.decode(file.data, options: options) }
        #expect(error?.code == .imageTooLarge || error?.code == .badImageData, "\(error as Any)")
        guard
            let decoder = registry.decoder(for: file.format)?.makeIncrementalDecoder(for: file.format, options: options)
        else { return }
        let arriving = thrownError {
            try decoder.append(file.data)
            _ = decoder.partialImage()
            return try decoder.finish(file.data)
        }
        #expect(arriving?.code == .imageTooLarge || arriving?.code == .badImageData, "\(arriving as Any)")
    }

    @Test("More pixels than any image has are refused with a remedy that helps")
    func largest() {
        let options = DecodeOptions(maximumPixelCount: .max)
        let side = 1 << 20
        #expect(throws: Never.self) { try options.check(PixelSize(width: side, height: side)) }
        let error = thrownError { try options.check(PixelSize(width: side + 1, height: side)) }
        #expect(error?.code == .imageTooLarge && error?.remedy.contains("maximumPixelCount") == false)
    }

    @Test("A format hint applies only to files without a signature")
    func hint() throws {
        let tga = Data([0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 24, 0x20, 0, 0, 255, 0, 255, 0])
        var options = DecodeOptions()
        options.formatHint = ImageFormat(rawValue: "image/x-tga")
        let image = try registry.decode(tga, options: options)
        #expect([image.color(0, 0), image.color(1, 0)] == [0xFF0000, 0x00FF00])
        #expect(try registry.decode(ShippedImage.data("cat.jpg"), options: options).format == .jpeg)
        // Bytes that nothing recognises are a damaged file of the format.
        let text = Data("Internal error".utf8)
        #expect(thrownError { try registry.decode(text, options: options) }?.code == .badImageData)
    }

    @Test("Pixels are stored in the requested format", arguments: ["cat.jpg", "butterfly.png", "bouncing-ball.gif"])
    func pixelFormat(name: String) throws {
        for format in [PixelBuffer.Format.rgb, .rgbaPremultiplied] {
            var options = DecodeOptions(size: .contain(PixelSize(width: 64, height: 64)))
            options.pixelFormat = format
            let image = try registry.decode(ShippedImage.data(name), options: options)
            #expect(image.pixels.format == format)
            if let animation = image.animation {
                #expect(try animation.makeDecoder().frame(at: 1).format == format)
                #expect(animation.hasAlpha == (format == .rgbaPremultiplied))
            }
        }
    }

    @Test("An image records its format and its decode options")
    func description() throws {
        let options = DecodeOptions(size: .contain(PixelSize(width: 50, height: 50)), scale: 2)
        let image = try registry.decode(ShippedImage.data("lighthouse.jpg"), options: options)
        #expect(image.format == .jpeg && image.orientation != .up && image.frameCount == 1 && image.loopCount == 1)
        #expect(image.decodeOptions?.size == options.size && image.scale == 2)
        #expect(image.logicalWidth == Double(image.naturalSize.width) / 2)
        let ball = try registry.decode(ShippedImage.data("bouncing-ball.gif"))
        #expect(ball.frameCount > 1 && ball.byteCount > ball.pixels.byteCount)
    }

    @Test("An image is created from bytes or a file and written to either")
    func files() throws {
        let folder = TemporaryDirectory()
        let image = try WebImage(contentsOf: URL(filePath: "\(ShippedImage.folder)/cat.jpg"))
        let file = URL(filePath: "\(folder.path)/small@2x.png")
        try image.data(as: .png).write(to: file)
        let again = try WebImage(contentsOf: file)
        #expect(again.scale == 2 && again.pixelSize == image.pixelSize && again.format == .png)
        #expect(try WebImage(data: image.data(as: .webp)).format == .webp)
        let error = thrownError {
            try WebImage(contentsOf: URL(filePath: "\(folder.path)/none.png"))
        }
        #expect(error?.code == .unreadable)
    }

    @Test("Frames beyond the limit are dropped, and durations that are too short become a tenth of a second")
    func frameLimit() throws {
        let data = ShippedImage.data("bouncing-ball.gif")
        var options = DecodeOptions()
        options.maximumFrameCount = 3
        #expect(try registry.decode(data, options: options).frameCount == 3)
        let animation = ImageAnimation(
            durations: [.zero, .milliseconds(10), .milliseconds(11)],
            loopCount: -1,
            size: PixelSize(width: 1, height: 1),
            hasAlpha: false,
            byteCount: 0
        ) { fatalError("No frame is asked for") }
        #expect(animation.durations == [.milliseconds(100), .milliseconds(100), .milliseconds(11)])
        #expect(animation.loopCount == 0)
    }
}
