import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Compares images of every kind that Debian's tools write (Tests/corpus/make) with what Pillow decodes from them.
@Suite("Images of every kind")
struct ConformanceTests {
    struct Entry: Codable, Sendable, CustomTestStringConvertible {
        struct Frame: Codable {
            /// The name of the file with its pixels: red, green, blue and alpha.
            let pixels: String
            let duration: Double
        }

        let file: String
        let width: Int
        let height: Int
        let frames: [Frame]
        /// The mean difference that is allowed, in levels of 255. With 0 not one pixel may differ.
        let tolerance: Double
        /// The loop count as Pillow reports it, where 0 means forever.
        let loop: Int?

        var testDescription: String { file }
    }

    private static let folder = TemporaryDirectory()

    private static let made: Result<[Entry], any Error> = Result {
        let script = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/corpus/make"
        let result = try ChildProcess.run(script, [folder.path])
        guard result.exitCode == 0 else { throw CorpusError(description: result.output) }
        let manifest = try Data(contentsOf: URL(filePath: "\(folder.path)/manifest.json"))
        return try JSONDecoder().decode([Entry].self, from: manifest)
    }

    /// None when the corpus cannot be made; then "There are images of every kind" fails.
    static let entries = (try? made.get()) ?? []

    private struct CorpusError: Error, CustomStringConvertible {
        let description: String
    }

    private let registry = CoderRegistry.builtIn

    private func decode(_ data: Data, _ options: DecodeOptions = DecodeOptions()) throws(ImageError) -> WebImage {
        try registry.decode(data, options: options)
    }

    static func data(_ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: "\(folder.path)/\(name)"))
    }

    @Test("There are images of every kind")
    func corpus() throws {
        #expect(try Self.made.get().count > 120)
    }

    @Test(
        "Each pixel and each duration of each frame equals that of another decoder",
        arguments: entries
    )
    func conforms(entry: Entry) throws {
        let data = try Self.data(entry.file)
        let image = try decode(data, DecodeOptions())
        #expect(image.pixelSize == PixelSize(width: entry.width, height: entry.height))
        #expect(image.frameCount == entry.frames.count)
        let decoder = image.animation?.makeDecoder()
        for (index, frame) in entry.frames.enumerated() {
            let pixels = try decoder?.frame(at: index) ?? image.pixels
            let expected = try Self.data(frame.pixels)
            let difference = pixels.difference(fromStraight: expected)
            #expect(
                entry.tolerance == 0 ? difference.largest == 0 : difference.mean <= entry.tolerance,
                "frame \(index): \(difference)"
            )
            // Like browsers, the library shows frames that are too short for 100 ms.
            let duration = Duration.milliseconds(frame.duration < 11 ? 100 : frame.duration)
            if let animation = image.animation { #expect(animation.durations[index] == duration, "frame \(index)") }
        }
        if let loop = entry.loop {
            // A GIF stores the number of repetitions.
            #expect(image.loopCount == (image.format == .gif && loop > 0 ? loop + 1 : loop))
        }
    }

    @Test("Frames are the same in any order of decoding", arguments: entries.filter { $0.frames.count > 2 })
    func order(entry: Entry) throws {
        let animation = try #require(try decode(Self.data(entry.file)).animation)
        let inOrder = try animation.frames(Array(0..<animation.frameCount))
        let backwards = try animation.frames((0..<animation.frameCount).reversed())
        #expect(inOrder == backwards.reversed())
        let decoder = animation.makeDecoder()
        for index in [2, 0, animation.frameCount - 1, 1, 1] {
            #expect(try decoder.frame(at: index).straightAlpha == inOrder[index], "frame \(index)")
        }
    }

    @Test(
        "A downsampled image and its frames look like the whole ones",
        arguments: entries.filter { min($0.width, $0.height) > 20 }
    )
    func scaled(entry: Entry) throws {
        let size = PixelSize(width: 20, height: 20)
        let data = try Self.data(entry.file)
        let (whole, small) = (try decode(data), try decode(data, DecodeOptions(size: .contain(size))))
        let target = DecodeSize.contain(size).target(for: whole.pixelSize)
        #expect(small.pixelSize == target && small.naturalSize == whole.pixelSize)
        let frames = zip(try whole.allFrames(), try small.allFrames())
        for (index, (large, small)) in frames.enumerated() {
            let expected = try #require(large.resized(to: target, orientation: .up))
            // Of JPEG and opaque WebP, the decoder does a part of the scaling.
            let isExact = [.png, .gif, .tiff, .bmp].contains(whole.format) || whole.pixels.hasAlpha
            #expect(expected.difference(from: small) < (isExact ? 1 : 6), "\(entry.file) \(index)")
        }
    }

    @Test("With isFirstFrameOnly an animation is a still image", arguments: entries.filter { $0.frames.count > 1 })
    func firstFrameOnly(entry: Entry) throws {
        var options = DecodeOptions()
        options.isFirstFrameOnly = true
        let still = try decode(Self.data(entry.file), options)
        #expect(still.animation == nil && still.frameCount == 1 && still.loopCount == 1)
        let expected = try Self.data(entry.frames[0].pixels)
        #expect(still.pixels.difference(fromStraight: expected).mean <= entry.tolerance)
    }
}

extension ImageAnimation {
    /// The pixels of the given frames, in this order.
    fileprivate func frames(_ indices: [Int]) throws -> [[UInt8]] {
        let decoder = makeDecoder()
        return try indices.map { try decoder.frame(at: $0).straightAlpha }
    }
}

extension WebImage {
    /// All frames of an animation, or the pixels of a still image.
    fileprivate func allFrames() throws -> [PixelBuffer] {
        guard let animation else { return [pixels] }
        let decoder = animation.makeDecoder()
        return try (0..<animation.frameCount).map { try decoder.frame(at: $0) }
    }
}
