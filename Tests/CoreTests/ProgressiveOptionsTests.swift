import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("The options of partial images")
struct ProgressiveOptionsTests {
    private let size = PixelSize(width: 400, height: 300)
    private let partials = EventLog<WebImage>()

    private var file: Data {
        TestImage.make(size: size, format: .jpeg) { x, y in UInt32(x * 77 ^ y * 1013) & 0xFFFFFF }
    }

    /// A load that shows as many pixels beside each other as bytes have arrived.
    private func counting(_ fixture: ManagerFixture, _ options: ProgressiveOptions) -> (URL, EventLog<Int>, ImageTask) {
        let url = fixture.url("a")
        fixture.loader.answer(url, with: Data(count: 10_000))
        var request = ImageRequest(url: url, loading: .progressive)
        request.decoder = ByteCountingCoder()
        request.progressiveOptions = options
        let counts = EventLog<Int>()
        let task = fixture.load(request, partial: { counts.add($0.pixelSize.width) }) { _ in }
        return (url, counts, task)
    }

    /// Waits until the decoder has seen all bytes.
    private func settle(_ fixture: ManagerFixture) {
        #expect(EventLog<Int>.poll { fixture.isAtRest })
    }

    @Test("The first partial image comes at once, and the next one when the interval is over, with all bytes so far")
    func interval() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let (url, counts, task) = counting(fixture, ProgressiveOptions(interval: .seconds(2)))
        fixture.loader.send(Data(count: 600), for: url)
        #expect(counts.wait { $0 == [600] })
        // When many pieces follow
        for _ in 0..<100 {
            fixture.loader.send(Data(count: 10), for: url)
            settle(fixture)
        }
        // Then one timer runs for all of them
        #expect(fixture.clock.pendingDelays == [2] && counts.all == [600])
        fixture.clock.advance(by: .milliseconds(1900))
        settle(fixture)
        #expect(counts.all == [600])
        fixture.clock.advance(by: .milliseconds(100))
        #expect(counts.wait { $0 == [600, 1600] })
        // And the next interval begins with this image.
        fixture.loader.send(Data(count: 10), for: url)
        settle(fixture)
        #expect(fixture.clock.pendingDelays == [2] && counts.all == [600, 1600])
        task.cancel()
    }

    @Test("By default it is 0.1 seconds")
    func usual() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let (url, counts, task) = counting(fixture, ProgressiveOptions())
        fixture.loader.send(Data(count: 600), for: url)
        #expect(counts.wait { $0 == [600] })
        fixture.loader.send(Data(count: 10), for: url)
        settle(fixture)
        #expect(fixture.clock.pendingDelays.map { ($0 * 1000).rounded() } == [100])
        task.cancel()
    }

    @Test(
        "An interval that is negative shows each piece, and one that is endless only the first",
        arguments: [(Duration.seconds(-5), 3), (.seconds(Int64.max), 1), (.zero, 3)]
    )
    func odd(interval: Duration, count: Int) {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let (url, counts, task) = counting(fixture, ProgressiveOptions(interval: interval))
        for number in 0..<3 {
            fixture.loader.send(Data(count: 600), for: url)
            settle(fixture)
            #expect(EventLog<Int>.poll { counts.all.count >= min(count, number + 1) })
        }
        #expect(counts.all.count == count)
        task.cancel()
        #expect(EventLog<Int>.poll { fixture.isIdle })
    }

    @Test("A clock that is set back does not hold the next partial image up")
    func clock() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let (url, counts, task) = counting(fixture, ProgressiveOptions())
        fixture.loader.send(Data(count: 600), for: url)
        #expect(counts.wait { $0 == [600] })
        fixture.clock.advance(by: .seconds(-3600))
        fixture.loader.send(Data(count: 10), for: url)
        #expect(counts.wait { $0 == [600, 610] })
        task.cancel()
    }

    @Test("Loads with other options share the transfer and the image, and each has its own pace")
    func shared() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let (url, file) = (fixture.url("a"), file)
        fixture.loader.answer(url, with: file)
        let (slow, fast) = (EventLog<WebImage>(), EventLog<WebImage>())
        for (interval, log) in [(Duration.seconds(1000), slow), (.zero, fast)] {
            var request = ImageRequest(url: url, loading: .progressive)
            request.progressiveOptions.interval = interval
            fixture.load(request, partial: { log.add($0) }) { fixture.outcomes.add(.init($0)) }
        }
        // One that shows none joins whichever it likes.
        fixture.load(ImageRequest(url: url)) { fixture.outcomes.add(.init($0)) }
        for quarter in 0..<3 {
            let start = file.count * quarter / 4
            fixture.loader.send(file[start..<file.count * (quarter + 1) / 4], for: url)
            #expect(fast.wait { $0.count == quarter + 1 })
            settle(fixture)
        }
        #expect(slow.all.count == 1)
        fixture.loader.send(file.suffix(from: file.count * 3 / 4), for: url)
        fixture.loader.finish(url)
        #expect(fixture.outcomes.wait { $0.count == 3 })
        #expect(fixture.outcomes.all == [ManagerFixture.Outcome](repeating: .image(size, .loader), count: 3))
        #expect(fixture.loader.requests.count == 1)
        #expect(fixture.isIdle)
    }

    /// Shows partial images with a blur while the file arrives.
    private func blurred(
        expected: Int64?,
        transformer: ImageTransformer? = nil,
        file: Data,
        change: (inout ImageRequest) -> Void = { _ in }
    ) -> (fixture: ManagerFixture, url: URL, request: ImageRequest) {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let url = fixture.url("a")
        fixture.loader.answer(url, with: file)
        var request = ImageRequest(url: url, loading: .progressive, transformer: transformer)
        request.progressiveOptions = ProgressiveOptions(interval: .zero, isBlurred: true)
        change(&request)
        fixture.load(request, partial: { partials.add($0) }) { fixture.outcomes.add(.init($0)) }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        var sent = 0
        for share in [0.1, 0.5, 0.9] {
            let next = Int(Double(file.count) * share)
            let count = partials.all.count
            fixture.loader.send(Data(file[sent..<next]), for: url, received: Int64(next), expected: expected)
            #expect(partials.wait { $0.count > count })
            settle(fixture)
            sent = next
        }
        return (fixture, url, request)
    }

    @Test("A blur shrinks as more arrives, and the image itself is sharp")
    func blur() throws {
        let file = file
        let (fixture, url, request) = blurred(expected: Int64(file.count), file: file)
        // Then each partial image has more pixels and more detail, and all have the size of the image in the layout
        let shown = partials.all
        #expect(shown.count == 3)
        #expect(shown.map(\.pixelSize.width) == [67, 200, 400])
        #expect(shown.allSatisfy { $0.naturalSize == size && $0.isPartial && $0.decodedSize == size })
        let details = shown.map(\.detail)
        #expect(details[0] < details[2] / 4 && details[1] < details[2] / 2, "\(details)")
        fixture.loader.send(file.suffix(from: Int(Double(file.count) * 0.9)), for: url)
        fixture.loader.finish(url)
        #expect(fixture.outcomes.wait { $0 == [.image(size, .loader)] })
        let image = try #require(fixture.manager.cachedImage(for: request))
        #expect(image.detail >= details[2] && !image.isPartial)
        // The same image serves requests without a blur.
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: url)) == image)
    }

    @Test("The last partial image is not coarser than those before it, when the loader has ended meanwhile")
    func lastBlur() {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let (url, coder, widths) = (fixture.url("a"), HeldCoder(), EventLog<Int>())
        fixture.loader.answer(url, with: Data(count: 10_000))
        var request = ImageRequest(url: url, loading: .progressive)
        request.decoder = coder
        request.progressiveOptions = ProgressiveOptions(interval: .zero, isBlurred: true)
        fixture.load(request, partial: { widths.add($0.pixelSize.width) }) { fixture.outcomes.add(.init($0)) }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.send(Data(count: 9000), for: url, received: 9000, expected: 10_000)
        #expect(widths.wait { $0.count == 1 })
        // When the bytes are complete while the next partial image is made
        coder.gate.close()
        fixture.loader.send(Data(count: 1000), for: url, received: 10_000, expected: 10_000)
        #expect(coder.calls.wait { $0.count == 2 })
        fixture.loader.finish(url)
        coder.gate.open()
        #expect(fixture.outcomes.wait { $0.count == 1 })
        // Then it shows that all of them are there.
        #expect(widths.all == [4500, 10_000])
    }

    /// Makes partial images as ``ByteCountingCoder`` does, once its gate is open.
    private struct HeldCoder: ImageDecoding {
        final class Session: IncrementalImageDecoding {
            private let session = ByteCountingCoder.Session()
            private let coder: HeldCoder

            init(_ coder: HeldCoder) { self.coder = coder }

            func append(_ data: Data) throws(ImageError) { try session.append(data) }

            func partialImage() -> WebImage? {
                coder.calls.add(0)
                coder.gate.wait()
                return session.partialImage()
            }

            func finish(_ data: Data) throws(ImageError) -> WebImage { try session.finish(data) }
        }

        let gate = Gate()
        let calls = EventLog<Int>()

        func canDecode(_ format: ImageFormat) -> Bool { true }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            try ByteCountingCoder().decode(data, options: options)
        }

        func makeIncrementalDecoder(
            for format: ImageFormat,
            options: DecodeOptions
        ) -> (any IncrementalImageDecoding)? { Session(self) }
    }

    @Test("Partial images are not blurred by default")
    func sharp() {
        let file = file
        _ = blurred(expected: Int64(file.count), file: file) { $0.progressiveOptions.isBlurred = false }
        #expect(partials.all.map(\.pixelSize) == [size, size, size])
    }

    @Test("Without a length from the server, or with one that lies, the blur is that of half a file at least or none")
    func lengths() {
        let file = file
        // How much of a usual file the first tenth is depends on libjpeg, whose newer versions write larger ones.
        let guessed = [58...200, 200...200, 200...200]
        for (expected, widths) in [
            (nil, guessed), (0, guessed), (-5, guessed), (10, [400...400, 400...400, 400...400]),
            (Int64.max, [57...57, 57...57, 57...57]),
        ] as [(Int64?, [ClosedRange<Int>])] {
            let before = partials.all.count
            _ = blurred(expected: expected, file: file)
            let shown = partials.all.dropFirst(before).map(\.pixelSize.width)
            let isRight = shown.count == widths.count && zip(shown, widths).allSatisfy { $1.contains($0) }
            #expect(isRight, "\(shown) with \(String(describing: expected))")
        }
    }

    @Test("A transformer gets as many pixels as without a blur")
    func transformed() {
        let file = file
        _ = blurred(
            expected: Int64(file.count),
            transformer: .crop(to: PixelRect(x: 0, y: 0, width: 300, height: 200)),
            file: file
        )
        #expect(partials.all.map(\.pixelSize) == [PixelSize](repeating: PixelSize(width: 300, height: 200), count: 3))
        let details = partials.all.map(\.detail)
        #expect(details[0] < details[2] / 2, "\(details)")
    }

    @Test("The smallest image and an animation are shown as they are")
    func unblurred() throws {
        let dot = try #require(PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 })
        for side in [1, 2, 49] {
            let image = WebImage(
                pixels: try #require(dot.resized(to: PixelSize(width: side, height: 1), orientation: .up))
            )
            #expect(image.blurred(arrived: 0, keepsSize: false) == image)
        }
        let animation = ImageAnimation(
            durations: [.zero, .zero],
            loopCount: 0,
            size: size,
            hasAlpha: false,
            byteCount: 0
        ) {
            preconditionFailure("Nothing is decoded")
        }
        let large = try #require(dot.resized(to: size, orientation: .up))
        let image = WebImage(pixels: large, animation: animation)
        #expect(image.blurred(arrived: 0, keepsSize: false) == image)
        #expect(WebImage(pixels: large).blurred(arrived: .nan, keepsSize: false).pixelSize.width == 50)
        #expect(WebImage(pixels: large).blurred(arrived: -.infinity, keepsSize: true).pixelSize == size)
        #expect(WebImage(pixels: large).blurred(arrived: .infinity, keepsSize: false).pixels === large)
    }
}

extension WebImage {
    /// How much neighbouring pixels differ on average in the upper tenth, at the size of the whole image.
    fileprivate var detail: Double {
        guard let pixels = pixels.resized(to: naturalSize, orientation: .up)?.converted(to: .rgb) else { return 0 }
        let (width, rows) = (pixels.size.width, max(1, pixels.size.height / 40))
        return pixels.withUnsafeBytes { bytes in
            var sum = 0
            for y in 0..<rows {
                for x in 1..<width {
                    let offset = y * pixels.bytesPerRow + x * 3
                    sum += abs(Int(bytes[offset]) - Int(bytes[offset - 3]))
                }
            }
            return Double(sum) / Double(rows * width)
        }
    }
}
