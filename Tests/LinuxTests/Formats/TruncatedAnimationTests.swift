import FoundationEssentials
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Truncated animations")
struct TruncatedAnimationTests {
    private static let size = PixelSize(width: 12, height: 10)
    private static let files: [ImageFormat: Data] = [
        .gif: TestImage.animation([0xFF0000, 0x00FF00, 0x0000FF], size: size),
        .png: TestImage.animation([0xFF0000, 0x00FF00, 0x0000FF], size: size, format: .png),
        .webp: TestImage.animation([0xFF0000, 0x00FF00, 0x0000FF], size: size, format: .webp),
    ]

    private func code(_ body: () throws(ImageError) -> WebImage) -> ImageError.Code? {
        do throws(ImageError) {
            _ = try body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test("A file that ends too early is an error wherever it ends, like a still image", arguments: Array(files.keys))
    func prefixes(format: ImageFormat) throws {
        let data = try #require(Self.files[format])
        let coders = CoderRegistry.builtIn
        #expect(try coders.decode(data, options: DecodeOptions()).frameCount == 3)
        for length in 30..<data.count {
            // Nothing tells a GIF that ends behind a frame from one without a trailer, of which there are many.
            if format == .gif, data[length - 1] == 0, [0x21, 0x3B].contains(data[length]) {
                continue
            }
            let prefix = Data(data.prefix(length))
            #expect(
                code { () throws(ImageError) in try coders.decode(prefix, options: DecodeOptions()) } == .badImageData,
                "\(length) of \(data.count) bytes"
            )
            // In pieces it ends the same way.
            let decoder = coders.decoder(for: format)?.makeIncrementalDecoder(for: format, options: DecodeOptions())
            try? decoder?.append(prefix)
            _ = decoder?.partialImage()
            if let decoder {
                #expect(code { () throws(ImageError) in try decoder.finish(prefix) } == .badImageData)
            }
        }
    }

    @Test("The frames of a file that is arriving are shown", arguments: Array(files.keys))
    func arriving(format: ImageFormat) throws {
        let data = try #require(Self.files[format])
        let coder = CoderRegistry.builtIn.decoder(for: format)
        let decoder = try #require(coder?.makeIncrementalDecoder(for: format, options: DecodeOptions()))
        var counts: Set<Int> = []
        for byte in data {
            try decoder.append(Data([byte]))
            if let image = decoder.partialImage() { counts.insert(image.frameCount) }
        }
        #expect(counts.isSuperset(of: [1, 2]))
        #expect(try decoder.finish(data).frameCount == 3)
    }

    @Test("The first frame alone is decoded from a file that has it", arguments: Array(files.keys))
    func firstFrame(format: ImageFormat) throws {
        let data = try #require(Self.files[format])
        var options = DecodeOptions()
        options.isFirstFrameOnly = true
        let image = try CoderRegistry.builtIn.decode(Data(data.dropLast(20)), options: options)
        #expect(image.frameCount == 1 && image.pixelSize == Self.size)
    }

    @Test("A GIF that lacks only its trailer is whole, animated or with one frame and a delay")
    func withoutTrailer() throws {
        let file = Data(try #require(Self.files[.gif]).dropLast())
        let coders = CoderRegistry.builtIn
        let single = TestImage.animation([0xFF0000], size: Self.size)
        #expect(try coders.decode(Data(single.dropLast()), options: DecodeOptions()).frameCount == 1)
        #expect(try coders.decode(file, options: DecodeOptions()).frameCount == 3)
        let decoder = try #require(
            coders.decoder(for: .gif)?.makeIncrementalDecoder(for: .gif, options: DecodeOptions())
        )
        try decoder.append(file)
        #expect(try decoder.finish(file).frameCount == 3)
    }

    @Test("A still GIF without a trailer, and an animation with bytes behind its end, are whole")
    func endings() throws {
        let still = TestImage.animation([0xFF0000], size: Self.size, duration: .zero, loopCount: 1)
        let coders = CoderRegistry.builtIn
        #expect(try coders.decode(Data(still.dropLast()), options: DecodeOptions()).frameCount == 1)
        for file in Self.files.values {
            #expect(try coders.decode(file + Data(count: 9), options: DecodeOptions()).frameCount == 3)
        }
    }
}
