import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Encoders")
struct EncoderTests {
    private let registry = CoderRegistry.builtIn

    private func decode(_ data: Data, _ size: DecodeSize = .original) throws -> WebImage {
        try registry.decoder(for: data, url: nil).decode(data, options: DecodeOptions(size: size))
    }

    private func shipped(_ name: String) throws -> WebImage {
        try decode(ShippedImage.data(name), .contain(PixelSize(width: 300, height: 300)))
    }

    /// Four fields: red and half-transparent green above half-transparent blue and nothing.
    private func translucent() throws -> WebImage {
        let size = PixelSize(width: 40, height: 40)
        let pixels = PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            for index in 0..<1600 {
                let color: [UInt8] =
                    switch (index % 40 < 20, index < 800) {
                    case (true, true): [255, 0, 0, 255]
                    case (false, true): [0, 128, 0, 255]
                    case (true, false): [0, 0, 128, 128]
                    case (false, false): [0, 0, 0, 0]
                    }
                for channel in 0..<4 { memory[index * 4 + channel] = color[channel] }
            }
        }
        return WebImage(pixels: try #require(pixels))
    }

    private func pixel(_ image: WebImage, _ x: Int, _ y: Int) -> [UInt8] {
        let count = image.pixels.format.bytesPerPixel
        let offset = y * image.pixels.bytesPerRow + x * count
        return image.pixels.withUnsafeBytes { Array($0[offset..<offset + count]) }
    }

    @Test("PNG and lossless WebP are restored to the last bit, with alpha", arguments: [ImageFormat.png, .webp])
    func lossless(format: ImageFormat) throws {
        var options = EncodeOptions()
        options.isLossless = true
        for image in [try shipped("cat.jpg"), try shipped("bauhaus-poster.png"), try translucent()] {
            let data = try registry.encode(image, as: format, options: options)
            #expect(ImageFormat(sniffing: data) == format)
            let back = try decode(data)
            #expect(back.pixelSize == image.pixelSize)
            let isSame = image.pixels.withUnsafeBytes { one in back.pixels.withUnsafeBytes { one.elementsEqual($0) } }
            #expect(isSame || image.pixels.hasAlpha != back.pixels.hasAlpha)
        }
        let back = try decode(try registry.encode(try translucent(), as: format, options: options))
        #expect(pixel(back, 5, 5) == [255, 0, 0, 255] && pixel(back, 5, 35) == [0, 0, 128, 128])
        #expect(pixel(back, 35, 35) == [0, 0, 0, 0])
    }

    @Test("JPEG and WebP resemble the source, and a higher quality makes a larger file")
    func lossy() throws {
        let image = try shipped("coffee.jpg")
        for format in [ImageFormat.jpeg, .webp] {
            var sizes: [Int] = []
            for quality in [0.3, 0.6, 0.9, 1] {
                var options = EncodeOptions()
                options.quality = quality
                let data = try registry.encode(image, as: format, options: options)
                sizes.append(data.count)
                #expect(try decode(data).difference(from: image) < (quality >= 0.9 ? 3 : 8))
            }
            #expect(sizes == sizes.sorted() && sizes[0] * 2 < sizes[3])
        }
    }

    @Test("The default is PNG with alpha and JPEG without, and JPEG flattens alpha onto the background")
    func formats() throws {
        let image = try translucent()
        #expect(ImageFormat(sniffing: try registry.encode(image)) == .png)
        #expect(ImageFormat(sniffing: try registry.encode(try shipped("cat.jpg"))) == .jpeg)
        var options = EncodeOptions()
        options.quality = 1
        options.background = ImageColor(0x00FF00)
        let flat = try decode(try registry.encode(image, as: .jpeg, options: options))
        let (empty, half) = (pixel(flat, 30, 30), pixel(flat, 10, 30))
        #expect(empty[0] < 8 && empty[1] > 247 && empty[2] < 8)
        #expect(half[0] < 8 && abs(Int(half[1]) - 127) < 8 && abs(Int(half[2]) - 128) < 8)
        let error = thrownError { try registry.encode(image, as: .tiff) }
        #expect(error?.code == .encodingFailed && error?.reason.contains("TIFF") == true)
    }

    @Test("More effort makes a WebP smaller, and any number is an effort")
    func webPEffort() throws {
        let image = try shipped("coffee.jpg")
        func size(_ effort: Int) throws -> Int {
            var options = EncodeOptions()
            (options.quality, options.webPEffort) = (0.75, effort)
            return try registry.encode(image, as: .webp, options: options).count
        }
        #expect(try size(0) > size(6))
        #expect(try size(.min) == size(0) && size(.max) == size(6))
    }

    @Test("A file stays within its byte limit", arguments: [ImageFormat.jpeg, .webp, .png])
    func maximumByteCount(format: ImageFormat) throws {
        let image = try shipped("cat.jpg")
        let whole = try registry.encode(image, as: format).count
        for limit in [40_000, 8_000, 900] {
            var options = EncodeOptions()
            options.maximumByteCount = limit
            let data = try registry.encode(image, as: format, options: options)
            #expect(data.count <= limit && data.count > min(limit, whole) * 3 / 5, "\(data.count) of \(limit)")
            let back = try decode(data)
            if format != .png, limit == 40_000 { #expect(back.pixelSize == image.pixelSize) }
        }
        var options = EncodeOptions()
        // Only WebP is written without loss.
        (options.isLossless, options.maximumByteCount) = (true, 40_000)
        if format == .jpeg {
            #expect(try decode(registry.encode(image, as: format, options: options)).pixelSize == image.pixelSize)
        }
        options.maximumByteCount = 5
        #expect(throws: ImageError.self) { try registry.encode(image, as: format, options: options) }
    }

    @Test("An image is scaled into its box and never upscaled")
    func maximumSize() throws {
        var options = EncodeOptions()
        options.maximumSize = PixelSize(width: 100, height: 10)
        #expect(
            try decode(try registry.encode(try translucent(), options: options)).pixelSize
                == PixelSize(width: 10, height: 10)
        )
        options.maximumSize = PixelSize(width: 1000, height: 1000)
        #expect(
            try decode(try registry.encode(try translucent(), options: options)).pixelSize
                == PixelSize(width: 40, height: 40)
        )
    }

    @Test("A coder that is added at run time is tried first")
    func registration() throws {
        registry.add(ConstantEncoder())
        #expect(try registry.encode(try translucent(), as: .png) == Data([1, 2, 3]))
    }

    @Test("Formats map to media types and extensions and back")
    func names() {
        let known: [ImageFormat] = [.jpeg, .png, .gif, .webp, .tiff, .bmp, .ico, .heif, .avif, .svg, .jpegXL, .pdf]
        for format in known {
            #expect(format.mediaType.flatMap(ImageFormat.init(mediaType:)) == format)
            #expect(format.fileExtension.flatMap(ImageFormat.init(fileExtension:)) == format)
        }
        #expect(ImageFormat(mediaType: "IMAGE/JPG ; q=1") == .jpeg)
        #expect(ImageFormat(fileExtension: "HEIC") == .heif)
        #expect(ImageFormat(mediaType: "text/html") == nil && ImageFormat(fileExtension: "html") == nil)
        #expect(ImageFormat(rawValue: "own").mediaType == nil)
    }

    @Test(
        "An animation is written as WebP with all frames, durations and its loop count",
        arguments: [true, false]
    )
    func animation(isLossless: Bool) throws {
        let box = DecodeSize.contain(PixelSize(width: 80, height: 80))
        let original = try decode(ShippedImage.data("bouncing-ball.gif"), box)
        var options = EncodeOptions()
        options.isLossless = isLossless
        let written = try decode(try registry.encode(original, as: .webp, options: options))
        let (before, after) = (try #require(original.animation), try #require(written.animation))
        #expect(after.durations == before.durations && after.loopCount == before.loopCount)
        let (old, new) = (before.makeDecoder(), after.makeDecoder())
        for index in 0..<before.frameCount {
            let (old, new) = (WebImage(pixels: try old.frame(at: index)), WebImage(pixels: try new.frame(at: index)))
            #expect(old.difference(from: new) <= (isLossless ? 0 : 8), "frame \(index)")
        }
    }

    @Test("An animation is scaled into a box and into a byte limit, or only its first frame is written")
    func smallAnimation() throws {
        let original = try decode(ShippedImage.data("bouncing-ball.gif"))
        var options = EncodeOptions()
        options.maximumSize = PixelSize(width: 40, height: 40)
        options.maximumByteCount = 3000
        let data = try registry.encode(original, as: .webp, options: options)
        let small = try decode(data)
        #expect(data.count <= 3000 && small.frameCount == original.frameCount && small.pixelSize.width <= 40)
        options.isFirstFrameOnly = true
        #expect(try decode(try registry.encode(original, as: .webp, options: options)).animation == nil)
        // The JPEG encoder writes no frames.
        #expect(try decode(try registry.encode(original, as: .jpeg)).animation == nil)
    }
}

private struct ConstantEncoder: ImageEncoding {
    func canEncode(_ format: ImageFormat) -> Bool { true }

    func encode(_: PixelBuffer, as _: ImageFormat, options: EncodeOptions) throws(ImageError) -> Data {
        Data([1, 2, 3])
    }
}
