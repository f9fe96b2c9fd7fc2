import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageSandbox
import WebImageTesting

/// Compares what workers decode with what this process decodes.
@Suite("The sandbox and the process of the app decode the same")
struct SandboxConformanceTests {
    private static let sandbox = DecodeSandbox(limit: 2)

    private let here = CoderRegistry.builtIn
    private let there: CoderRegistry

    init() throws {
        try #require(DecodeSandbox.shared != nil)
        there = .builtIn(adding: [], sandbox: (Self.sandbox, isOptional: false))
    }

    private func isSame(_ one: WebImage, _ other: WebImage) -> Bool {
        one.pixelSize == other.pixelSize && one.naturalSize == other.naturalSize && one.format == other.format
            && one.orientation == other.orientation && one.frameCount == other.frameCount
            && one.loopCount == other.loopCount && one.pixels.hasAlpha == other.pixels.hasAlpha
            && one.animation?.durations == other.animation?.durations
            && one.naturalSizeBeforeTransform == other.naturalSizeBeforeTransform
            && one.decodedSize == other.decodedSize && one.pixels.straightAlpha == other.pixels.straightAlpha
    }

    @Test("Images of all formats, at several sizes", arguments: ConformanceTests.entries)
    func images(entry: ConformanceTests.Entry) throws {
        let data = try ConformanceTests.data(entry.file)
        for size in [
            DecodeSize.original, .contain(PixelSize(width: 20, height: 20)), .cover(PixelSize(width: 33, height: 17)),
        ] {
            for isFirstFrameOnly in [false, true] {
                var options = DecodeOptions(url: URL(filePath: entry.file), size: size)
                options.isFirstFrameOnly = isFirstFrameOnly
                let (one, other) = (try here.decode(data, options: options), try there.decode(data, options: options))
                #expect(isSame(one, other), "\(size)")
                guard let frames = one.animation?.makeDecoder(), let otherFrames = other.animation?.makeDecoder() else {
                    continue
                }
                for index in Array(0..<one.frameCount) + [0, one.frameCount - 1] {
                    let (frame, otherFrame) = (try frames.frame(at: index), try otherFrames.frame(at: index))
                    #expect(frame.straightAlpha == otherFrame.straightAlpha, "frame \(index)")
                }
            }
        }
    }

    @Test(
        "Images that arrive in pieces",
        arguments: ConformanceTests.entries
    )
    func pieces(entry: ConformanceTests.Entry) throws {
        let data = try ConformanceTests.data(entry.file)
        let format = ImageFormat(sniffing: data)
        let options = DecodeOptions(size: .contain(PixelSize(width: 40, height: 40)))
        let one = here.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options)
        let other = there.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options)
        #expect((one == nil) == (other == nil))
        guard let one, let other else { return }
        for offset in stride(from: 0, to: data.count, by: max(1, data.count / 5)) {
            let piece = Data(data.dropFirst(offset).prefix(max(1, data.count / 5)))
            try one.append(piece)
            try other.append(piece)
            let (partial, otherPartial) = (one.partialImage(), other.partialImage())
            #expect((partial == nil) == (otherPartial == nil))
            #expect(partial?.pixels.straightAlpha == otherPartial?.pixels.straightAlpha)
            #expect(partial?.isThumbnail == otherPartial?.isThumbnail)
        }
        #expect(isSame(try one.finish(data), try other.finish(data)))
    }

    @Test(
        "Images of other suites, sound and damaged",
        .enabled(
            if: SuiteImages.areFetched,
            "Tests/corpus/fetch could not fetch the images; run Tests/run with a network"
        )
    )
    func suites() throws {
        let files = try SuiteImages.shared.get().entries.map(\.file)
        let options = DecodeOptions(size: .contain(PixelSize(width: 64, height: 64)), maximumPixelCount: 1 << 22)
        let differences = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: files.count) { index in
            guard let data = try? SuiteImages.data(file: files[index]) else { return }
            let one = Result { () throws(ImageError) in try here.decode(data, options: options) }
            let other = Result { () throws(ImageError) in try there.decode(data, options: options) }
            let isSame =
                switch (one, other) {
                case (.success(let one), .success(let other)): self.isSame(one, other)
                case (.failure(let one), .failure(let other)): one.code == other.code && one.reason == other.reason
                default: false
                }
            if !isSame { differences.withLock { $0.append("\(files[index]): \(one) \(other)") } }
        }
        #expect(differences.withLock { $0 } == [])
    }
}
