import FoundationEssentials
import Testing
import WebImageCore
import WebImageLinux
import WebImageSandbox
import WebImageTesting

@Suite("Animated files in parts")
struct ArrivingAnimationFormatTests {
    private func bytes(_ decoder: any FrameDecoding, _ index: Int) throws -> [UInt8] {
        try decoder.frame(at: index).withUnsafeBytes { Array($0) }
    }

    @Test(
        "Each image of a file that arrives continues the one before, and a decoder goes on where another one has stopped",
        arguments: TestImage.AnimationFormat.allCases,
        [false, true]
    )
    func continues(format: TestImage.AnimationFormat, isSandboxed: Bool) throws {
        // Given the images of a file in parts, and of the whole file
        let colors: [UInt32] = [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFF00, 0x00FFFF, 0xFF00FF, 0x112233, 0x445566]
        let file = TestImage.animation(colors, size: PixelSize(width: 30, height: 20), format: format)
        let sandbox = DecodeSandbox(limit: 1)
        let coders = CoderRegistry.builtIn(adding: [], sandbox: isSandboxed ? (sandbox, isOptional: false) : nil)
        let coder = try #require(coders.decoder(for: ImageFormat(rawValue: format.rawValue)))
        let arriving = try #require(
            coder.makeIncrementalDecoder(for: ImageFormat(rawValue: format.rawValue), options: DecodeOptions())
        )
        var images: [WebImage] = []
        for offset in stride(from: 0, to: file.count, by: 40) {
            try arriving.append(Data(file.dropFirst(offset).prefix(40)))
            if let partial = arriving.partialImage(), partial.animation != nil { images.append(partial) }
        }
        images.append(try arriving.finish(file))
        let animations = images.compactMap(\.animation)
        try #require(animations.count > 4 && animations.last?.frameCount == colors.count, "\(animations.count)")
        // Then each of them continues the one before,
        for (before, after) in zip(animations, animations.dropFirst()) { #expect(after.continues(before)) }
        // And its decoder makes the frames of the whole file.
        let whole = try #require(try coder.decode(file, options: DecodeOptions()).animation)
        #expect(!whole.continues(animations[0]))
        var decoder = animations[0].makeInterruptibleDecoder()
        for animation in animations {
            let next = animation.makeInterruptibleDecoder()
            next.takeOver(from: decoder)
            decoder = next
            let last = animation.frameCount - 1
            #expect(try bytes(decoder, last) == bytes(whole.makeDecoder(), last), "frame \(last)")
        }
    }
}
