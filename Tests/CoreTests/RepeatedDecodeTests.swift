import Foundation
import TestSupport
import Testing
import WebImageFormats
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

@Suite("Decodes that begin again because there are more pixels than memory was taken for")
struct RepeatedDecodeTests {
    /// Decodes files without a header, which have 3000 x 2000 pixels, and others.
    private struct HeaderlessCoder: ImageDecoding {
        let log: EventLog<String>
        let gate: Gate

        func canDecode(_ format: ImageFormat) -> Bool { true }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            let name = ImageFormat(sniffing: data) == .unknown ? "large" : "other"
            log.add(name)
            gate.wait()
            if name == "large" { try options.check(PixelSize(width: 3000, height: 2000)) }
            return WebImage(pixels: PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 }!)
        }
    }

    /// Finds a few more pixels each time.
    private struct InsatiableCoder: ImageDecoding {
        let log: EventLog<Int>

        func canDecode(_ format: ImageFormat) -> Bool { true }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            let reserved = options.reservedPixelCount ?? 0
            log.add(reserved)
            try options.checkReservation(reserved + 1)
            throw options.badData("No memory was taken")
        }
    }

    @Test("A decoder that names a few more pixels each time is not asked without end")
    func insatiable() async {
        let log = EventLog<Int>()
        let fixture = ManagerFixture(hasResults: false) { $0.coders = CoderRegistry([InsatiableCoder(log: log)]) }
        fixture.loader.answer(fixture.url("a"), with: Data("a format of the app".utf8))
        fixture.load("a")
        #expect(await fixture.polled { fixture.outcomes.all == [.failure(.imageTooLarge)] })
        #expect(log.all.count < 40, "\(log.all.count) decodes")
    }

    /// Loads of a file of which nothing is known before it is decoded, and of a small one, with one thread and with memory for
    /// either decode of the first, but not for both.
    private func fixture(_ log: EventLog<String>, _ gate: Gate, holdsResponses: Bool) -> (ManagerFixture, MemoryBudget)
    {
        let budget = MemoryBudget(limit: 160 << 20)
        let fixture = ManagerFixture(holdsResponses: holdsResponses, hasResults: false) { dependencies in
            dependencies.coders = CoderRegistry([HeaderlessCoder(log: log, gate: gate)])
            dependencies.budget = budget
            dependencies.decodeQueue = WorkQueue(name: "test-decode", threadCount: 1)
        }
        fixture.loader.answer(fixture.url("large"), with: Data("a format of the app".utf8))
        // There is always memory for this one.
        fixture.loader.answer(fixture.url("other"), with: TestImage.solid(0, size: PixelSize(width: 9, height: 9)))
        return (fixture, budget)
    }

    @Test("A decode that has waited for memory and takes more goes on with it at once")
    func decode() async {
        // Given a decode that has waited for its first memory, and runs with it
        let (log, gate) = (EventLog<String>(), Gate())
        let (fixture, budget) = fixture(log, gate, holdsResponses: false)
        let others = budget.takeForDecoding(60 << 20)
        gate.close()
        fixture.load("large")
        #expect(await fixture.polled { budget.waitingCount == 1 })
        #expect(others != nil)
        others?.shrink(to: 0)
        #expect(await fixture.polled { log.all == ["large"] })
        // When another one is to go before it
        fixture.load("other", priority: .high)
        #expect(await fixture.polled { fixture.manager.activeCounts.fetches == 0 })
        gate.open()
        // Then it gives back what it has, takes more, and does not wait again
        #expect(await fixture.polled { fixture.outcomes.all.count == 2 })
        #expect(log.all == ["large", "large", "other"])
        #expect(await fixture.polled { budget.used == (0, 0, 0) })
        withExtendedLifetime(others) {}
    }

    @Test("The decode of a stale image that has waited for memory and takes more goes on with it at once")
    func staleImage() async {
        // Given a cached file that is decoded while the server is asked, and has waited for its first memory
        let (log, gate) = (EventLog<String>(), Gate())
        let (fixture, budget) = fixture(log, gate, holdsResponses: true)
        fixture.load("large")
        #expect(await fixture.polled { fixture.loader.runningCount == 1 })
        fixture.loader.finish(fixture.url("large"))
        #expect(await fixture.polled { fixture.outcomes.all.count == 1 && fixture.isQuiet })
        #expect(await fixture.polled { budget.used == (0, 0, 0) })
        fixture.manager.cache.removeAllFromMemory()
        let others = budget.takeForDecoding(60 << 20)
        gate.close()
        let previews = EventLog<PixelSize>()
        let request = ImageRequest(url: fixture.url("large"), cachePolicy: .refresh)
        fixture.load(request, partial: { previews.add($0.pixelSize) }) {
            fixture.outcomes.add(ManagerFixture.Outcome($0))
        }
        #expect(await fixture.polled { budget.waitingCount == 1 && fixture.loader.runningCount == 1 })
        #expect(others != nil)
        others?.shrink(to: 0)
        #expect(await fixture.polled { log.all.count == 3 })
        // When another one is to go before it
        fixture.load("other", priority: .high)
        #expect(await fixture.polled { fixture.loader.runningCount == 2 })
        fixture.loader.finish(fixture.url("other"))
        #expect(await fixture.polled { fixture.manager.activeCounts.fetches == 1 })
        gate.open()
        // Then it takes more at once, and is shown
        #expect(await fixture.polled { fixture.outcomes.all.count == 2 && previews.all.count == 1 })
        #expect(log.all == ["large", "large", "large", "large", "other"])
        fixture.loader.finish(fixture.url("large"))
        #expect(await fixture.polled { fixture.outcomes.all.count == 3 && budget.used == (0, 0, 0) })
        withExtendedLifetime(others) {}
    }

    /// Writes renditions, of which every one is damaged when it is read.
    private struct DamagingCoder: RenditionCoding {
        let log: EventLog<String>
        let gate: Gate

        func encode(_ image: WebImage, hasRoom: Bool) -> (Data, RenditionInfo.Encoding)? {
            RenditionCoder().encode(image, hasRoom: hasRoom)
        }

        func decode(_ data: Data, _ info: RenditionInfo) -> PixelBuffer? {
            log.add("rendition")
            gate.wait()
            return nil
        }
    }

    private struct LoggingCoder: ImageDecoding {
        let log: EventLog<String>

        func canDecode(_ format: ImageFormat) -> Bool { true }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            log.add("\(ImageHeader(reading: data)?.size.width ?? 0)")
            return try CoderRegistry.builtIn.decode(data, options: options)
        }
    }

    @Test(
        "The original of a damaged rendition that has waited for memory is decoded at once, before the server has answered or then",
        arguments: [true, false]
    )
    func damagedRendition(isShownBefore: Bool) async {
        // Given a rendition that is not fresh any more, and memory for it or for its original of 80 x 80 pixels
        let (log, gate, budget) = (EventLog<String>(), Gate(), MemoryBudget(limit: 49_000))
        let fixture = ManagerFixture { dependencies in
            dependencies.coders = CoderRegistry([LoggingCoder(log: log)])
            dependencies.renditionCoder = DamagingCoder(log: log, gate: gate)
            dependencies.budget = budget
            dependencies.decodeQueue = WorkQueue(name: "test-decode", threadCount: 1)
        }
        var metadata = ResponseMetadata()
        (metadata.cacheControl, metadata.etag, metadata.responseTime) = ("max-age=60", "\"1\"", fixture.clock.now)
        let file = TestImage.solid(0xFF0000, size: PixelSize(width: 80, height: 80))
        fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: file, metadata: metadata)))
        fixture.loader.answer(fixture.url("other"), with: TestImage.solid(0, size: PixelSize(width: 9, height: 9)))
        let size = DecodeSize.contain(PixelSize(width: 30, height: 30))
        fixture.load("a", size: size)
        #expect(await fixture.polled { fixture.results.usage.count == 1 && fixture.isQuiet })
        #expect(await fixture.polled { budget.used == (0, 0, 0) })
        fixture.manager.cache.removeAllFromMemory()
        fixture.clock.advance(by: .seconds(61))
        let confirmed = LoaderResult(data: Data(), metadata: ResponseMetadata(), isNotModified: true)
        fixture.loader.answer(fixture.url("a"), with: .success(confirmed))
        let others = budget.takeForDecoding(budget.decodingLimit)
        gate.close()
        let request = ImageRequest(url: fixture.url("a"), cachePolicy: .refresh, decodeSize: size)
        let partial: @Sendable (WebImage) -> Void = { _ in }
        fixture.load(request, partial: isShownBefore ? partial : nil) {
            fixture.outcomes.add(ManagerFixture.Outcome($0))
        }
        #expect(await fixture.polled { budget.waitingCount == 1 && fixture.loader.requests.count == 2 })
        #expect(others != nil)
        others?.shrink(to: 0)
        #expect(await fixture.polled { log.all == ["80", "rendition"] })
        // When another image is to go before the original
        fixture.load("other", priority: .high)
        #expect(await fixture.polled { fixture.manager.activeCounts.fetches == 0 })
        gate.open()
        // Then the original takes the memory that the rendition has given back
        #expect(await fixture.polled { fixture.outcomes.all.count == 3 })
        #expect(log.all == ["80", "rendition", "80", "9"])
        #expect(fixture.outcomes.all.contains(.image(PixelSize(width: 30, height: 30), .revalidated)))
        withExtendedLifetime(others) {}
    }
}
