import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux

/// Compares what the library and other decoders show of the images of other people's suites.
@Suite(
    "Images of other suites",
    .enabled(if: SuiteImages.areFetched, "Tests/corpus/fetch could not fetch the images; run Tests/run with a network")
)
struct SuiteTests {
    private let registry = CoderRegistry.builtIn

    /// Calls a function with each image, on all processors.
    private func concurrently<Value: Sendable>(
        _ entries: [SuiteImages.Entry],
        _ body: @Sendable (SuiteImages.Entry) -> Value
    ) -> [Value] {
        let values = Mutex<[Int: Value]>([:])
        DispatchQueue.concurrentPerform(iterations: entries.count) { index in
            let value = body(entries[index])
            values.withLock { $0[index] = value }
        }
        return values.withLock { values in entries.indices.compactMap { values[$0] } }
    }

    @Test(
        "Size, frames and pixels are those of another decoder, but for differences that are listed with a reason",
        .enabled(if: SuiteImages.haveListedDecoders, "The differences are listed for Pillow 9.4, that of Debian 12")
    )
    func conforms() throws {
        let images = try SuiteImages.shared.get()
        var listed = try SuiteImages.listedDifferences()
        let outcomes = concurrently(images.entries) { outcome(of: $0, images.pixels) }
        var summary = SuiteSummary()
        for (entry, (outcome, detail)) in zip(images.entries, outcomes) {
            summary.count(outcome, entry.format)
            let expected = listed.removeValue(forKey: entry.file)
            guard expected != (outcome.isDifference ? outcome.rawValue : nil) else { continue }
            Issue.record(
                """
                \(outcome.rawValue) \(entry.file): \(detail). Tests/corpus/differences says \(expected ?? "nothing"). \
                Mend the library if it is wrong, else correct the list.
                """
            )
        }
        #expect(listed.keys.sorted() == [], "Tests/corpus/differences lists what is not there")
        print(summary.table)
    }

    private func outcome(of entry: SuiteImages.Entry, _ pixels: Data) -> (outcome: SuiteSummary.Outcome, detail: String)
    {
        let image: WebImage
        do {
            let data = try SuiteImages.data(entry)
            var options = DecodeOptions(maximumPixelCount: 1 << 26)
            // Pillow knows nothing of gAMA, with which the suites of PNG are filled. CaseTests has it.
            options.convertsToSRGB = entry.format != "png" || data.range(of: Data("iCCP".utf8)) != nil
            image = try registry.decode(data, options: options)
        } catch {
            return (entry.frames.isEmpty ? .refusedByBoth : .refused, "\(error)")
        }
        guard let width = entry.width, let height = entry.height, !entry.frames.isEmpty else {
            return (.shown, "\(image.pixelSize), \(image.frameCount) frames")
        }
        let size = PixelSize(width: width, height: height)
        guard image.pixelSize == size else { return (.size, "\(image.pixelSize) instead of \(size)") }
        guard image.frameCount == entry.frameCount else {
            return (.frames, "\(image.frameCount) instead of \(entry.frameCount)")
        }
        let decoder = image.animation?.makeDecoder()
        for (index, frame) in entry.frames.enumerated() {
            guard let mine = index == 0 ? image.pixels : try? decoder?.frame(at: index) else {
                return (.frames, "frame \(index) is refused")
            }
            let difference = pixels.withUnsafeBytes { mine.difference(from: $0, at: frame.offset, frame.hasAlpha) }
            let limit = tolerance(entry.format)
            guard difference.largest <= limit.largest, difference.mean <= limit.mean else {
                return (.pixels, "frame \(index) differs by \(difference)")
            }
        }
        return (.same, "")
    }

    /// The mean and the largest difference that rounding makes, in levels of 255.
    private func tolerance(_ format: String) -> (mean: Double, largest: Int) {
        switch format {
        // libheif and libavif spread the smaller chroma planes in different ways, which shows at edges.
        case "avif", "heic": (1, 40)
        // Pillow cuts 16 bits off where the library rounds, then both multiply by alpha. Most formats are exact.
        default: (0.5, 2)
        }
    }

    @Test("An image in two pieces is what it is as a whole, also when it is refused")
    func pieces() throws {
        let failures = concurrently(try SuiteImages.shared.get().entries) { entry -> String? in
            guard let data = try? SuiteImages.data(entry) else { return "\(entry.file) is not there" }
            let format = ImageFormat(sniffing: data)
            var generator = SeededGenerator(seed: UInt64(data.count))
            for size in [DecodeSize.original, .contain(PixelSize(width: 40, height: 40))] {
                let options = DecodeOptions(size: size, maximumPixelCount: 1 << 26)
                guard let decoder = registry.decoder(for: format)?.makeIncrementalDecoder(for: format, options: options)
                else { return nil }
                let whole = Result { try registry.decode(data, options: options) }
                let inPieces = Result {
                    let cut = Int.random(in: 0...data.count, using: &generator)
                    for piece in [data.prefix(cut), data.dropFirst(cut)] {
                        try decoder.append(piece)
                        _ = decoder.partialImage()
                    }
                    return try decoder.finish(data)
                }
                switch (whole, inPieces) {
                case (.success(let whole), .success(let pieces)):
                    if !whole.isSame(as: pieces) { return "\(entry.file) differs at \(size)" }
                case (.failure(let whole as ImageError), .failure(let pieces as ImageError)):
                    if whole.code != pieces.code { return "\(entry.file): \(whole), in pieces \(pieces)" }
                default:
                    return "\(entry.file): \(whole), in pieces \(inPieces)"
                }
            }
            return nil
        }
        #expect(failures.compactMap { $0 } == [])
    }
}

extension WebImage {
    fileprivate func isSame(as other: WebImage) -> Bool {
        pixelSize == other.pixelSize && naturalSize == other.naturalSize && orientation == other.orientation
            && frameCount == other.frameCount && loopCount == other.loopCount
            && pixels.withUnsafeBytes { mine in
                other.pixels.withUnsafeBytes {
                    mine.count == $0.count && memcmp(mine.baseAddress!, $0.baseAddress!, $0.count) == 0
                }
            }
    }
}

extension PixelBuffer {
    /// The difference of the bytes from those of another decoder's, whose colours are multiplied by alpha, too.
    fileprivate func difference(
        from all: UnsafeRawBufferPointer,
        at offset: Int,
        _ otherHasAlpha: Bool
    ) -> (mean: Double, largest: Int) {
        let other = UnsafeRawBufferPointer(rebasing: all[offset...])
        return withUnsafeBytes { mine in
            if hasAlpha == otherHasAlpha, memcmp(mine.baseAddress!, other.baseAddress!, mine.count) == 0 {
                return (0, 0)
            }
            let count = size.pixelCount
            let (myStep, step) = (bytesPerPixel, otherHasAlpha ? 4 : 3)
            var (sum, largest, pixel) = (0, 0, 0)
            // A loop over a range takes many times longer without optimisation.
            while pixel < count {
                var channel = 0
                while channel < 4 {
                    let left = channel < myStep ? Int(mine[pixel * myStep + channel]) : 255
                    let right = channel < step ? Int(other[pixel * step + channel]) : 255
                    let difference = left > right ? left - right : right - left
                    sum += difference
                    if difference > largest { largest = difference }
                    channel += 1
                }
                pixel += 1
            }
            return (Double(sum) / Double(count * 4), largest)
        }
    }
}
