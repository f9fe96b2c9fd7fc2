import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux

@Suite("JPEG XL")
struct JPEGXLTests {
    private let registry = CoderRegistry.builtIn

    /// The middles of the quarters: red, green, blue and alpha.
    private func quarters(_ pixels: PixelBuffer) -> [[UInt8]] {
        let (width, height) = (pixels.size.width, pixels.size.height)
        let bytes = pixels.straightAlpha
        return [1, 3].flatMap { y in
            [1, 3].map { x in
                Array(
                    bytes[
                        ((height * y / 4) * width + width * x / 4) * 4..<((height * y / 4) * width + width * x / 4) * 4
                            + 4
                    ]
                )
            }
        }
    }

    private static let red: [UInt8] = [255, 0, 0, 255]
    private static let lime: [UInt8] = [0, 255, 0, 255]
    private static let blue: [UInt8] = [0, 0, 255, 255]
    private static let yellow: [UInt8] = [255, 255, 0, 255]

    @Test("An animation has its frames, durations and loops", arguments: [("animation.jxl", 3), ("endless.jxl", 0)])
    func animation(name: String, loops: Int) throws {
        let image = try registry.decode(CodecFile.named(name).data)
        let animation = try #require(image.animation)
        #expect(image.pixelSize == PixelSize(width: 40, height: 30) && image.loopCount == loops)
        #expect(animation.durations.map { Int(($0 / .milliseconds(1)).rounded()) } == [40, 100, 250, 70])
        let expected = [
            Array(repeating: Self.red, count: 4), Array(repeating: Self.lime, count: 4),
            [Self.lime, Self.lime, Self.lime, Self.blue], Array(repeating: Self.yellow, count: 4),
        ]
        #expect(quarters(image.pixels) == expected[0])
        let decoders = [animation.makeDecoder(), animation.makeDecoder()]
        for (index, other) in [(0, 1), (1, 2), (2, 3), (3, 3), (2, 0), (0, 1), (3, 2), (1, 2), (1, 0)] {
            #expect(quarters(try decoders[0].frame(at: index)) == expected[index], "\(index)")
            #expect(quarters(try decoders[1].frame(at: other)) == expected[other], "\(other)")
        }
    }

    @Test("A frame that covers a part is blended with what is below it, or replaces it")
    func blending() throws {
        let image = try registry.decode(CodecFile.named("animation-alpha.jxl").data)
        let decoder = try #require(image.animation).makeDecoder()
        let half: [UInt8] = [255, 0, 0, 128]
        let expected = [
            [half, half, half, half], [Self.blue, half, half, half], [Self.blue, [0, 0, 0, 0], half, half],
        ]
        #expect(image.loopCount == 1 && image.frameCount == 3)
        for (index, colors) in expected.enumerated() {
            for (found, color) in zip(quarters(try decoder.frame(at: index)), colors) {
                #expect(zip(found, color).allSatisfy { abs(Int($0) - Int($1)) <= 1 }, "\(index): \(found)")
            }
        }
    }

    @Test(
        "The first frame of an animation is a still image if that is asked for, and scaled frames look like the whole ones"
    )
    func frames() throws {
        let data = CodecFile.named("animation.jxl").data
        var options = DecodeOptions()
        options.isFirstFrameOnly = true
        let still = try registry.decode(data, options: options)
        #expect(still.animation == nil && still.loopCount == 1 && quarters(still.pixels)[0] == Self.red)
        let small = try registry.decode(data, options: DecodeOptions(size: .contain(PixelSize(width: 20, height: 20))))
        let decoder = try #require(small.animation).makeDecoder()
        #expect(small.pixelSize == PixelSize(width: 20, height: 15) && small.frameCount == 4)
        #expect(quarters(try decoder.frame(at: 2)) == [Self.lime, Self.lime, Self.lime, Self.blue])
        options = DecodeOptions()
        options.maximumFrameCount = 2
        #expect(try registry.decode(data, options: options).frameCount == 2)
    }

    /// The image of a file that arrives in pieces, and the partial images until then.
    private func arrive(_ data: Data, in length: Int, _ options: DecodeOptions) throws -> (WebImage, [WebImage])? {
        guard let decoder = registry.decoder(for: .jpegXL)?.makeIncrementalDecoder(for: .jpegXL, options: options)
        else {
            return nil
        }
        var partial: [WebImage] = []
        for start in stride(from: 0, to: data.count, by: length) {
            try decoder.append(Data(data.dropFirst(start).prefix(length)))
            if let image = decoder.partialImage() { partial.append(image) }
        }
        return (try decoder.finish(data), partial)
    }

    @Test("An image in pieces has the pixels of the whole file", arguments: CodecFile.jpegXL)
    func pieces(file: CodecFile) throws {
        for size in [DecodeSize.original, .contain(PixelSize(width: 20, height: 20))] {
            let options = DecodeOptions(size: size)
            let whole = try registry.decode(file.data, options: options)
            for length in [1, 7, 100, file.data.count] where length > 1 || file.data.count < 3000 {
                let (image, partial) = try #require(try arrive(file.data, in: length, options))
                #expect(
                    image.pixels.straightAlpha == whole.pixels.straightAlpha && image.frameCount == whole.frameCount
                )
                #expect(image.naturalSize == whole.naturalSize && image.loopCount == whole.loopCount)
                for one in partial { #expect(one.pixelSize == whole.pixelSize && one.naturalSize == whole.naturalSize) }
            }
        }
    }

    @Test(
        "A progressive image gets closer to the whole one while it arrives",
        arguments: ["waves.jxl", "waves-squeezed.jxl"]
    )
    func progressive(name: String) throws {
        let data = CodecFile.named(name).data
        let (image, partial) = try #require(try arrive(data, in: data.count / 40, DecodeOptions()))
        try #require(partial.count >= 2, "There are \(partial.count) partial images")
        #expect(partial.allSatisfy { $0.isPartial && $0.pixelSize == image.pixelSize })
        let distances = partial.map { image.pixels.difference(from: $0.pixels) }
        #expect(distances[0] < 90 && distances.last! < distances[0], "\(distances)")
    }

    @Test(
        "A file that ends early is damaged, however it arrives",
        arguments: ["lossy.jxl", "lossless.jxl", "waves.jxl", "container.jxl"]
    )
    func truncated(name: String) {
        let data = CodecFile.named(name).data
        for tenths in 1..<10 {
            let part = Data(data.prefix(data.count * tenths / 10))
            #expect(thrownError { try registry.decode(part) }?.code == .badImageData, "\(tenths)")
            #expect(throws: ImageError.self, "\(tenths)") { try arrive(part, in: 50, DecodeOptions()) }
        }
    }

    @Test("An image can stay as it is stored", arguments: 1...8)
    func stored(orientation: Int) throws {
        let data = CodecFile.named("orientation-\(orientation).jxl").data
        var options = DecodeOptions()
        options.appliesOrientation = false
        let image = try registry.decode(data, options: options)
        let expected = try CodecFile.named("orientation-1.jxl").expected()
        #expect(image.pixelSize == expected.pixelSize && image.orientation.rawValue == orientation)
        #expect(image.pixels.straightAlpha == expected.pixels.straightAlpha)
    }
}
