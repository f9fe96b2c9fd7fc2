import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

/// Frames of a given size, each painted by a function from pixels to colours: 0xRRGGBBAA, multiplied by alpha.
private final class PaintedFrames: FrameDecoding {
    private let size: PixelSize
    private let damaged: Int?
    private let failure: ImageError.Code
    private let paint: @Sendable (Int, Int, Int) -> UInt32

    init(
        _ size: PixelSize,
        damaged: Int?,
        by failure: ImageError.Code,
        _ paint: @escaping @Sendable (Int, Int, Int) -> UInt32
    ) {
        (self.size, self.damaged, self.failure, self.paint) = (size, damaged, failure, paint)
    }

    func frame(at index: Int) throws(ImageError) -> PixelBuffer {
        guard index != damaged else {
            throw ImageError(failure, url: nil, reason: "The frame is not there", remedy: "None.")
        }
        return PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let color = paint(index, x, y)
                    for channel in 0..<4 {
                        memory[(y * size.width + x) * 4 + channel] = UInt8(color >> (24 - channel * 8) & 255)
                    }
                }
            }
        }!
    }
}

@Suite("Animations as GIF and PNG")
struct AnimationEncoderTests {
    private let registry = CoderRegistry.builtIn
    private let folder = TemporaryDirectory()

    /// Options that have an animation encoded anew.
    private static let anew = {
        var options = EncodeOptions()
        options.quality = 0.95
        return options
    }()

    private func animation(
        _ durations: [Duration],
        loopCount: Int = 0,
        size: PixelSize = PixelSize(width: 24, height: 16),
        drawn: PixelSize? = nil,
        damaged: Int? = nil,
        by failure: ImageError.Code = .badImageData,
        _ paint: @escaping @Sendable (Int, Int, Int) -> UInt32
    ) -> WebImage {
        let animation = ImageAnimation(
            durations: durations,
            loopCount: loopCount,
            size: size,
            hasAlpha: true,
            byteCount: 0
        ) { PaintedFrames(drawn ?? size, damaged: damaged, by: failure, paint) }
        guard let first = try? animation.makeDecoder().frame(at: 0) else {
            preconditionFailure("The first frame is never damaged")
        }
        return WebImage(pixels: first, animation: animation)
    }

    /// A square that moves over nothing, so that pixels become transparent again.
    private func movingSquare(_ count: Int = 5, loopCount: Int = 0) -> WebImage {
        animation([Duration](repeating: .milliseconds(40), count: count), loopCount: loopCount) { index, x, y in
            (index * 3..<index * 3 + 6).contains(x) && (4..<10).contains(y) ? 0xFF80_00FF : 0
        }
    }

    private func frames(_ image: WebImage) throws -> [WebImage] {
        let animation = try #require(image.animation)
        let decoder = animation.makeDecoder()
        return try (0..<animation.frameCount).map { WebImage(pixels: try decoder.frame(at: $0)) }
    }

    private func colors(_ image: WebImage) -> [UInt32] {
        image.colors(x: 0..<image.pixelSize.width, y: 0..<image.pixelSize.height)!.map(\.rgba)
    }

    private func decode(_ data: Data) throws -> WebImage { try registry.decode(data) }

    /// Frame by frame what Pillow shows of a file: the duration in milliseconds and the pixels as straight RGBA.
    private func pillow(_ data: Data) throws -> (durations: [Int], loop: Int?, frames: [[UInt32]]) {
        let file = "\(folder.path)/\(data.hashValue)"
        try data.write(to: URL(filePath: file))
        let script = """
            import sys
            from PIL import Image, ImageSequence
            image = Image.open(sys.argv[1])
            print(image.info.get("loop", ""))
            pixels = open(sys.argv[1] + ".pixels", "wb")
            for frame in ImageSequence.Iterator(image):
                print(round(frame.info["duration"]))
                pixels.write(frame.convert("RGBA").tobytes())
            """
        let result = try ChildProcess.run("/usr/bin/python3", ["-c", script, file])
        try #require(result.exitCode == 0, "\(result.output)")
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        let durations = lines.dropFirst().map { Int($0)! }
        let pixels = try Data(contentsOf: URL(filePath: file + ".pixels")).withUnsafeBytes {
            $0.bindMemory(to: UInt32.self).map(\.bigEndian)
        }
        let count = pixels.count / durations.count
        let frames = durations.indices.map { Array(pixels[$0 * count..<($0 + 1) * count]) }
        return (durations, Int(lines.first ?? ""), frames)
    }

    @Test("Without a format an animation is written with its frames, in the format of its file or as WebP")
    func chosenFormat() throws {
        for (format, expected) in [(nil, .webp), (.gif, .gif), (.png, .png), (.webp, .webp)]
            as [(ImageFormat?, ImageFormat)]
        {
            let image = try format.map { try decode(registry.encode(movingSquare(), as: $0)) } ?? movingSquare()
            let data = try registry.encode(image, options: Self.anew)
            #expect(ImageFormat(sniffing: data) == expected)
            #expect(try decode(data).frameCount == 5)
        }
        var options = EncodeOptions()
        options.isFirstFrameOnly = true
        #expect(ImageFormat(sniffing: try registry.encode(movingSquare(), options: options)) == .png)
    }

    // MARK: - What is shown

    @Test("A square that moves over nothing leaves no trace", arguments: [ImageFormat.gif, .png])
    func square(format: ImageFormat) throws {
        let original = movingSquare()
        let data = try registry.encode(original, as: format, options: Self.anew)
        #expect(ImageFormat(sniffing: data) == format)
        let written = try decode(data)
        #expect(written.animation?.durations == original.animation?.durations && written.loopCount == 0)
        let expected = try frames(original).map(colors)
        let isSame = try frames(written).map(colors) == expected
        #expect(isSame)
        // Pillow names the colours of transparent pixels, which are none.
        let foreign = try pillow(data)
        let isSameElsewhere = foreign.frames.map { $0.map { $0 & 255 == 0 ? 0 : $0 } } == expected
        #expect(isSameElsewhere)
        #expect(foreign.durations == [40, 40, 40, 40, 40] && foreign.loop == 0)
    }

    @Test(
        "An animation of few colours is the same in every frame, in this decoder and in Pillow",
        arguments: ["bouncing-ball.gif", "pinwheel.gif"],
        [ImageFormat.gif, .png]
    )
    func shipped(name: String, format: ImageFormat) throws {
        var options = DecodeOptions()
        options.maximumFrameCount = 8
        let original = try registry.decode(ShippedImage.data(name), options: options)
        let data = try registry.encode(original, as: format, options: Self.anew)
        let written = try decode(data)
        #expect(written.frameCount == original.frameCount && written.loopCount == original.loopCount)
        #expect(written.animation?.durations == original.animation?.durations)
        let expected = try frames(original)
        for (index, frame) in try frames(written).enumerated() {
            let isSame = colors(frame) == colors(expected[index])
            #expect(isSame, "frame \(index)")
        }
        let foreign = try pillow(data)
        #expect(foreign.frames.count == expected.count)
        for (index, frame) in foreign.frames.enumerated() {
            let isSame = frame.map { $0 & 255 == 0 ? 0 : $0 } == colors(expected[index])
            #expect(isSame, "frame \(index)")
        }
    }

    @Test("PNG keeps half-transparent pixels, GIF makes them opaque or transparent")
    func translucent() throws {
        let original = animation([.milliseconds(100), .milliseconds(100)]) { index, x, _ in
            [0x4020_0080, 0x1008_0020, 0x0000_FFFF][(x + index) % 3]
        }
        let apng = try decode(registry.encode(original, as: .png, options: Self.anew))
        for (before, after) in zip(try frames(original), try frames(apng)) {
            let isSame = before.pixels.withUnsafeBytes { one in after.pixels.withUnsafeBytes { one.elementsEqual($0) } }
            #expect(isSame)
        }
        let gif = try frames(decode(registry.encode(original, as: .gif, options: Self.anew)))
        #expect((0..<3).map { gif[0].color(x: $0, y: 0)?.rgba } == [0x8040_00FF, 0, 0x0000_FFFF])
        #expect((0..<3).map { gif[1].color(x: $0, y: 0)?.rgba } == [0, 0x0000_FFFF, 0x8040_00FF])
    }

    @Test(
        "A photo keeps its colours, as a GIF of 256 of them",
        arguments: ["cat.jpg", "deep-field.jpg", "citrus.webp"]
    )
    func photo(name: String) throws {
        let box = DecodeOptions(size: .contain(PixelSize(width: 96, height: 96)))
        let original = try registry.decode(ShippedImage.data(name), options: box)
        let data = try registry.encode(original, as: .gif)
        let written = try decode(data)
        #expect(written.pixelSize == original.pixelSize && written.animation == nil && written.format == .gif)
        let decibels = signalToNoise(colors(original), colors(written))
        print("\(name): \(decibels) dB")
        #expect(decibels > 31, "\(decibels)")
        // What is dithered has the colours of the source on average.
        let small = PixelSize(width: 12, height: 12)
        let (before, after) = (
            original.pixels.resized(to: small, orientation: .up), written.pixels.resized(to: small, orientation: .up)
        )
        let mean = WebImage(pixels: try #require(before)).difference(from: WebImage(pixels: try #require(after)))
        #expect(mean < 1.5, "\(mean)")
        // Pillow's own quantiser is no better.
        let pixels = original.pixels.converted(to: .rgb)!.withUnsafeBytes { Data($0) }
        let raw = "\(folder.path)/raw"
        try pixels.write(to: URL(filePath: raw))
        let script = """
            import sys
            from PIL import Image
            image = Image.frombytes("RGB", (\(original.pixelSize.width), \(original.pixelSize.height)), open(sys.argv[1], "rb").read())
            print(image.quantize(256, method=0, dither=1).convert("RGBA").tobytes().hex())
            """
        let result = try ChildProcess.run("/usr/bin/python3", ["-c", script, raw])
        let hex = Array(result.output.filter { !$0.isWhitespace })
        let foreign = stride(from: 0, to: hex.count, by: 8).map { UInt32(String(hex[$0..<$0 + 8]), radix: 16)! }
        let rival = signalToNoise(colors(original), foreign)
        print("\(name): Pillow \(rival) dB")
        #expect(decibels > rival)
    }

    /// The ratio of signal to noise of the channels, in decibels.
    private func signalToNoise(_ first: [UInt32], _ second: [UInt32]) -> Double {
        var sum = 0.0
        for (one, other) in zip(first, second) {
            for shift: UInt32 in [8, 16, 24] {
                let difference = Double(one >> shift & 255) - Double(other >> shift & 255)
                sum += difference * difference
            }
        }
        return 10 * log10(255 * 255 / (sum / Double(first.count * 3)))
    }

    // MARK: - Durations, loops, sizes

    @Test("Durations do not drift, and those that a format cannot hold are the nearest that it can")
    func durations() throws {
        let thirds = animation([Duration](repeating: .milliseconds(33), count: 30)) { index, _, _ in
            index % 2 == 0 ? 0xFF : 0xFF00_00FF
        }
        let gif = try #require(decode(registry.encode(thirds, as: .gif, options: Self.anew)).animation)
        #expect(gif.frameCount == 30 && abs((gif.duration - .milliseconds(990)) / .milliseconds(1)) <= 10)
        let png = try #require(decode(registry.encode(thirds, as: .png, options: Self.anew)).animation)
        #expect(png.durations == thirds.animation?.durations)
        let odd = animation([.milliseconds(12), .seconds(100), .seconds(86_400)]) { index, _, _ in
            [0xFF, 0xFF_FFFF, 0xFFFF][index]
        }
        let short = try #require(decode(registry.encode(odd, as: .gif, options: Self.anew)).animation)
        #expect(short.durations == [.milliseconds(20), .milliseconds(99_990), .milliseconds(655_350)])
        let long = try #require(decode(registry.encode(odd, as: .png, options: Self.anew)).animation)
        #expect(long.durations == [.milliseconds(12), .seconds(100), .seconds(65_535)])
        let webP = try #require(decode(registry.encode(odd, as: .webp, options: Self.anew)).animation)
        #expect(webP.durations.count == 3 && webP.durations[1] == .seconds(100) && webP.durations[2] > .seconds(16_000))
    }

    @Test("The number of loops is kept", arguments: [0, 1, 2, 65_536, 1_000_000], [ImageFormat.gif, .png, .webp])
    func loops(count: Int, format: ImageFormat) throws {
        let written = try decode(registry.encode(movingSquare(2, loopCount: count), as: format, options: Self.anew))
        let most: [ImageFormat: Int] = [.gif: 65_536, .webp: 65_535]
        #expect(written.loopCount == min(count, most[format] ?? .max))
    }

    @Test("A frame like the one before it is still a frame", arguments: [ImageFormat.gif, .png])
    func repetition(format: ImageFormat) throws {
        let still = animation([Duration](repeating: .milliseconds(50), count: 3)) { _, x, _ in UInt32(x) << 24 | 0xFF }
        let written = try decode(registry.encode(still, as: format, options: Self.anew))
        let different = Set(try frames(written).map(colors))
        #expect(written.frameCount == 3 && different.count == 1)
    }

    @Test("A GIF with a longer side than its numbers can say is refused before it is made")
    func sides() throws {
        for (size, isWritten) in [
            (PixelSize(width: 65_535, height: 1), true), (PixelSize(width: 1, height: 65_536), false),
        ] {
            let pixels = PixelBuffer(size: size, format: .rgb) { $0.initializeMemory(as: UInt8.self, repeating: 7) }
            let image = WebImage(pixels: try #require(pixels))
            let data = Result { try registry.encode(image, as: .gif) }
            guard isWritten else {
                let error = thrownError { try data.get() }
                #expect(error?.code == .encodingFailed && error?.reason.contains("65535") == true)
                continue
            }
            #expect(try decode(data.get()).pixelSize == size)
        }
    }

    @Test("A still image of one pixel, of one colour, or of nothing is a GIF, too")
    func smallest() throws {
        for color: UInt32 in [0, 0xFF, 0x1122_33FF] {
            let size = PixelSize(width: 1, height: 1)
            let image = WebImage(
                pixels: try PaintedFrames(size, damaged: nil, by: .badImageData) { _, _, _ in color }.frame(at: 0)
            )
            #expect(try colors(decode(registry.encode(image, as: .gif))) == [color])
        }
    }

    @Test(
        "All 256 colours of a frame and 255 beside nothing are exact, one more are not far off",
        arguments: [255, 256, 257]
    )
    func colorCounts(count: Int) throws {
        let size = PixelSize(width: 17, height: 31)
        for hasGaps in [false, true] {
            let paint: @Sendable (Int, Int, Int) -> UInt32 = { _, x, y in
                let number = UInt32((y * 17 + x) % count)
                return hasGaps && x == 0 && y == 0
                    ? 0 : number << 24 | (number * 7 & 255) << 16 | (number >> 8) << 8 | 0xFF
            }
            let image = WebImage(pixels: try PaintedFrames(size, damaged: nil, by: .badImageData, paint).frame(at: 0))
            let written = try decode(registry.encode(image, as: .gif))
            let isExact = count <= (hasGaps ? 255 : 256)
            #expect((colors(written) == colors(image)) == isExact)
            #expect(signalToNoise(colors(image), colors(written)) > 30)
        }
    }

    @Test("Noise fills the dictionary of the packer many times, and is unpacked as it was")
    func noise() throws {
        var generator = SeededGenerator(seed: 22)
        let size = PixelSize(width: 200, height: 200)
        for colorCount in [2, 3, 16, 200, 256] {
            let pixels = PixelBuffer(size: size, format: .rgb) { memory in
                for index in 0..<40_000 {
                    let color = UInt8.random(in: 0..<UInt8(clamping: max(colorCount, 2)), using: &generator)
                    for channel in 0..<3 { memory[index * 3 + channel] = color }
                }
            }
            let image = WebImage(pixels: try #require(pixels))
            let data = try registry.encode(image, as: .gif)
            let isSame = colors(try decode(data)) == colors(image)
            #expect(isSame)
        }
    }

    // MARK: - What goes wrong

    @Test(
        "An animation ends before a damaged frame, or one that a transformer refuses, which may be its second one",
        arguments: [ImageFormat.gif, .png, .webp],
        [ImageError.Code.badImageData, .transformFailed]
    )
    func damaged(format: ImageFormat, failure: ImageError.Code) throws {
        // Given animations of four colours with a frame that is not there
        let durations = [Duration](repeating: .milliseconds(50), count: 4)
        let paint: @Sendable (Int, Int, Int) -> UInt32 = { index, _, _ in [0xFF, 0xFF_FFFF, 0xFFFF, 0xFF00_FFFF][index]
        }
        for count in [1, 2] {
            let short = animation(durations, damaged: count, by: failure, paint)
            // When they are written
            let written = try decode(registry.encode(short, as: format, options: Self.anew))
            // Then the frames before are
            #expect(written.frameCount == count)
            // An animation whose frames only cannot be had now must not be taken for a shorter one.
            let unread = animation(durations, damaged: count, by: .decoderUnavailable, paint)
            #expect(throws: ImageError.self) { try registry.encode(unread, as: format, options: Self.anew) }
        }
    }

    @Test("Frames of another size than that of the animation are scaled", arguments: [ImageFormat.gif, .png])
    func otherSize(format: ImageFormat) throws {
        let size = PixelSize(width: 8, height: 8)
        let odd = animation([.milliseconds(50), .milliseconds(50)], size: size, drawn: PixelSize(width: 3, height: 40))
        { index, _, _ in
            [0xFF00_00FF, 0xFF][index]
        }
        let written = try decode(registry.encode(odd, as: format, options: Self.anew))
        #expect(written.pixelSize == size && written.color(x: 7, y: 7)?.rgba == 0xFF00_00FF)
    }

    @Test("A task that is cancelled stops encoding", arguments: [ImageFormat.gif, .png, .webp])
    func cancelled(format: ImageFormat) async throws {
        let image = movingSquare(3)
        let error = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return thrownError { try registry.encode(image, as: format, options: Self.anew) }
        }.value
        #expect(error?.code == .cancelled)
    }

    @Test("An animation stays within a limit of bytes and of pixels", arguments: [ImageFormat.gif, .png])
    func limits(format: ImageFormat) throws {
        let original = try decode(ShippedImage.data("bouncing-ball.gif"))
        var options = Self.anew
        options.maximumSize = PixelSize(width: 40, height: 40)
        options.maximumByteCount = 4000
        let data = try registry.encode(original, as: format, options: options)
        let small = try decode(data)
        #expect(data.count <= 4000 && small.frameCount == original.frameCount && small.pixelSize.width <= 40)
        options.isFirstFrameOnly = true
        #expect(try decode(registry.encode(original, as: format, options: options)).animation == nil)
    }

    // MARK: - The file itself

    @Test(
        "An animation that is as its file has it is written as that file",
        arguments: ["bouncing-ball.gif", "day-and-night.webp"]
    )
    func original(name: String) async throws {
        let file = ShippedImage.data(name)
        let image = try decode(file)
        #expect(image.animation?.fileData == file)
        #expect(try registry.encode(image, as: image.format) == file)
        // What has another size, other options or a transformer is written anew.
        #expect(try registry.encode(image, as: image.format, options: Self.anew) != file)
        let small = try registry.decode(file, options: DecodeOptions(size: .contain(PixelSize(width: 20, height: 20))))
        #expect(small.animation?.fileData == file)
        #expect(try decode(registry.encode(small, as: image.format)).pixelSize == small.pixelSize)
        let crop = ImageTransformer.crop(to: PixelRect(x: 0, y: 0, width: 10, height: 10))
        let url = URL(filePath: "\(folder.path)/\(name)")
        try file.write(to: url)
        let request = ImageRequest(url: url, transformer: crop)
        let changed = try await ImageManager.shared.image(for: request)
        #expect(changed.animation != nil && changed.animation?.fileData == nil)
    }

    @Test("While an animation arrives, there is no whole file", arguments: ["bouncing-ball.gif", "day-and-night.webp"])
    func arriving(name: String) throws {
        let file = ShippedImage.data(name)
        let format = ImageFormat(sniffing: file)
        let decoder = try #require(
            registry.decoder(for: format)?.makeIncrementalDecoder(for: format, options: DecodeOptions())
        )
        try decoder.append(Data(file.prefix(file.count * 3 / 4)))
        let partial = try #require(decoder.partialImage())
        #expect(partial.animation != nil && partial.animation?.fileData == nil)
        try decoder.append(Data(file.dropFirst(file.count * 3 / 4)))
        #expect(try decoder.finish(file).animation?.fileData == file)
    }
}
