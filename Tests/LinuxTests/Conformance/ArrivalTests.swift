import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Compares images that arrive in pieces with the same images as a whole.
@Suite("One image, one result")
struct ArrivalTests {
    private let registry = CoderRegistry.builtIn

    private static let sizes: [DecodeSize] = [
        .original, .contain(PixelSize(width: 20, height: 20)), .cover(PixelSize(width: 33, height: 17)),
        .stretch(PixelSize(width: 31, height: 29)), .within(byteCount: 4000),
    ]

    @Test(
        "An image in pieces of any size has the pixels of the whole file, and so have its partial images their size",
        arguments: ConformanceTests.entries
    )
    func pieces(entry: ConformanceTests.Entry) throws {
        let data = try ConformanceTests.data(entry.file)
        var generator = SeededGenerator(seed: UInt64(data.count))
        for size in Self.sizes {
            for isFirstFrameOnly in [false, true] {
                var options = DecodeOptions(size: size)
                options.isFirstFrameOnly = isFirstFrameOnly
                let whole = try registry.decode(data, options: options)
                let format = ImageFormat(sniffing: data)
                guard let decoder = registry.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options)
                else { return }
                var rest = data[...]
                while !rest.isEmpty {
                    let count = Int.random(in: 1...max(1, min(rest.count, data.count / 3)), using: &generator)
                    try decoder.append(Data(rest.prefix(count)))
                    rest = rest.dropFirst(count)
                    guard let partial = decoder.partialImage() else { continue }
                    #expect(partial.pixelSize == whole.pixelSize, "\(size)")
                    #expect(partial.naturalSize == whole.naturalSize && partial.scale == whole.scale, "\(size)")
                }
                let final = try decoder.finish(data)
                #expect(final.pixelSize == whole.pixelSize && final.naturalSize == whole.naturalSize, "\(size)")
                #expect(final.frameCount == whole.frameCount && final.loopCount == whole.loopCount, "\(size)")
                #expect(final.orientation == whole.orientation && final.format == whole.format, "\(size)")
                #expect(final.pixels.straightAlpha == whole.pixels.straightAlpha, "\(size)")
            }
        }
    }
}
