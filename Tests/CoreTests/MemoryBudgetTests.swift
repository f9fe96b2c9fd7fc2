import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

@Suite("The memory of all loads")
struct MemoryBudgetTests {
    /// Of which decodes may take 1000 bytes, and what lasts and bodies 300 each.
    private let budget = MemoryBudget(limit: 1600)

    @Test("What lasts is refused rather than waited for, and does not take the memory of decodes")
    func lasting() {
        var kept = [budget.keep(200)]
        #expect(budget.keep(200) == nil && budget.used.lasting == 200)
        #expect(budget.takeForDecoding(1000) != nil)
        let log = EventLog<Int>()
        for byteCount in [100, 200, 300] {
            budget.whenRoom(toKeep: byteCount, ticket: budget.makeTicket()) { log.add(byteCount) }
        }
        let cancelled = budget.makeTicket()
        budget.whenRoom(toKeep: 200, ticket: cancelled) { log.add(0) }
        budget.cancel(cancelled)
        #expect(log.all == [100] && budget.lastingWaiterCount == 2)
        kept = []
        #expect(kept.isEmpty && log.all == [100, 200, 300] && budget.keep(300) != nil)
    }

    @Test("No more images are decoded at a time than fit, and all of them are decoded")
    func decodes() {
        // Given memory for three images of 48 x 32 pixels, and a decoder that stands still
        let (counter, gate) = (DecodeCount(), Gate())
        gate.close()
        let budget = MemoryBudget(limit: 48 * 32 * 4 * 3 * 16 / 10 + 16)
        let fixture = ManagerFixture(hasDisk: false, hasResults: false) { dependencies in
            dependencies.coders = CoderRegistry([CountedCoder(counter: counter, gate: gate)])
            dependencies.decodeQueue = WorkQueue(name: "test-decode", threadCount: 8)
            dependencies.budget = budget
        }
        let file = TestImage.solid(0xFF0000, size: PixelSize(width: 48, height: 32))
        // When a hundred are loaded
        for number in 0..<100 {
            fixture.loader.answer(fixture.url("\(number)"), with: file)
            fixture.load("\(number)")
        }
        // Then three are under way, and the others wait without a thread
        #expect(EventLog<Int>.poll { counter.now == 3 && budget.waitingCount == 97 })
        // And all are there in the end, never more than three at a time
        gate.open()
        fixture.outcomes.wait { $0.count == 100 }
        #expect(fixture.outcomes.all.allSatisfy { $0 == .image(PixelSize(width: 48, height: 32), .loader) })
        #expect(counter.most == 3)
        #expect(EventLog<Int>.poll { budget.used == (0, 0, 0) })
    }

    /// Loads of which one decodes until a gate opens, and takes nearly all of the memory.
    private func fixture(_ gate: Gate, _ log: EventLog<String>) -> (ManagerFixture, MemoryBudget) {
        let budget = MemoryBudget(limit: 100 * 100 * 4 * 16 / 10 + 16)
        let fixture = ManagerFixture(hasResults: false) { dependencies in
            dependencies.coders = CoderRegistry([LoggingCoder(log: log, gate: gate)])
            dependencies.decodeQueue = WorkQueue(name: "test-decode", threadCount: 2)
            dependencies.budget = budget
        }
        for (name, side) in [("first", 98), ("large", 97), ("larger", 99), ("small", 10), ("other", 96)] {
            let size = PixelSize(width: side, height: side)
            fixture.loader.answer(fixture.url(name), with: TestImage.solid(0xFF0000, size: size))
        }
        return (fixture, budget)
    }

    @Test("Images for which there is no room keep no threads from the others")
    func threads() {
        // Given one image that decodes, and more large ones than there are threads
        let (gate, log) = (Gate(), EventLog<String>())
        gate.close()
        let (fixture, budget) = fixture(gate, log)
        fixture.load("first")
        log.wait { $0 == ["98"] }
        for (index, name) in ["large", "larger"].enumerated() {
            fixture.load(name)
            #expect(EventLog<Int>.poll { budget.waitingCount == index + 1 })
        }
        // When a small one comes
        fixture.load("small")
        // Then it is decoded, and the others in turn
        log.wait { $0.count == 2 }
        #expect(log.all == ["98", "10"])
        gate.open()
        fixture.outcomes.wait { $0.count == 4 }
        #expect(log.all == ["98", "10", "97", "99"])
        #expect(EventLog<Int>.poll { budget.used == (0, 0, 0) })
    }

    @Test(
        "An image that waits for memory gets it by the priority that its load has by then, and none once it is cancelled"
    )
    func waitingPriority() {
        let (gate, log) = (Gate(), EventLog<String>())
        gate.close()
        let (fixture, budget) = fixture(gate, log)
        fixture.load("first")
        log.wait { $0 == ["98"] }
        let (large, larger) = (fixture.load("large"), fixture.load("larger", priority: .low))
        fixture.load("other")
        #expect(EventLog<Int>.poll { budget.waitingCount == 3 })
        larger.priority = .high
        large.cancel()
        fixture.settle()
        #expect(budget.waitingCount == 2)
        gate.open()
        fixture.outcomes.wait { $0.count == 4 }
        #expect(log.all == ["98", "99", "96"])
    }

    @Test("The memory of a decode is taken until its transformer is done, which holds as much again")
    func transformer() async throws {
        let size = PixelSize(width: 48, height: 32)
        let budget = MemoryBudget(limit: 1 << 20)
        let fixture = ManagerFixture { $0.budget = budget }
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: size))
        let used = EventLog<Int>()
        var request = ImageRequest(url: fixture.url("a"))
        request.transformer = .custom(key: "used") { image in
            used.add(budget.used.decoding)
            return image
        }
        _ = try await fixture.manager.image(for: request)
        #expect(used.all == [size.pixelCount * 4 * 3])
        #expect(EventLog<Int>.poll { budget.used == (0, 0, 0) })
    }

    @Test("The memory of a stale image is given back before the answer of the server is decoded")
    func staleImage() {
        // Given a cached image that is decoded while the server sends a larger one
        let (gate, used, budget) = (Gate(), EventLog<Int>(), MemoryBudget(limit: 1 << 20))
        let fixture = ManagerFixture(hasResults: false) { dependencies in
            dependencies.coders = CoderRegistry([UsageCoder(budget: budget, used: used, gate: gate)])
            dependencies.budget = budget
        }
        let (small, large) = (PixelSize(width: 10, height: 10), PixelSize(width: 20, height: 20))
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: small))
        fixture.load("a")
        fixture.outcomes.wait { $0.count == 1 }
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        fixture.manager.cache.removeAllFromMemory()
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0xFF0000, size: large))
        gate.close()
        let request = ImageRequest(url: fixture.url("a"), cachePolicy: .refresh)
        fixture.load(request, partial: { _ in }) { fixture.outcomes.add(ManagerFixture.Outcome($0)) }
        #expect(EventLog<Int>.poll { used.all.count == 2 && fixture.manager.activeCounts.fetches == 0 })
        // When it is shown
        gate.open()
        fixture.outcomes.wait { $0.count == 2 }
        // Then each image was decoded with its own memory
        #expect(used.all == [small, small, large].map { $0.pixelCount * 4 })
        #expect(EventLog<Int>.poll { budget.used == (0, 0, 0) })
    }

    @Test("A rendition that takes more than there is for all fails as its original does")
    func largeRendition() async {
        // Given a rendition that a process with more memory has made
        let first = ManagerFixture()
        let size = DecodeSize.contain(PixelSize(width: 30, height: 30))
        first.loader.answer(first.url("a"), with: TestImage.solid(0xFF0000, size: PixelSize(width: 80, height: 80)))
        first.load("a", size: size)
        #expect(await first.polled { first.outcomes.all.count == 1 && first.isQuiet })
        // When there is memory for 20 x 30 pixels
        let second = ManagerFixture { dependencies in
            dependencies.dataCache = first.disk
            dependencies.renditionCache = first.results
            dependencies.budget = MemoryBudget(limit: 20 * 30 * 4 * 16 / 10)
        }
        second.load("a", size: size)
        #expect(await second.polled { second.outcomes.all == [.failure(.imageTooLarge)] })
        // Then the rendition is there for others
        first.manager.cache.removeAllFromMemory()
        first.load("a", size: size)
        #expect(await first.polled { first.outcomes.all.count == 2 })
        #expect(first.outcomes.all.last == .image(PixelSize(width: 30, height: 30), .disk) && first.decodes.count == 1)
    }

    @Test(
        "A rendition that the server confirms takes memory, whether it is shown before that or only then",
        arguments: [true, false]
    )
    func confirmedRendition(isShownBefore: Bool) async throws {
        // Given a rendition that is not fresh any more
        let budget = MemoryBudget(limit: 1 << 20)
        let fixture = ManagerFixture { $0.budget = budget }
        var metadata = ResponseMetadata()
        (metadata.cacheControl, metadata.etag, metadata.responseTime) = ("max-age=60", "\"1\"", fixture.clock.now)
        let file = TestImage.solid(0xFF0000, size: PixelSize(width: 80, height: 80))
        fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: file, metadata: metadata)))
        let size = DecodeSize.contain(PixelSize(width: 30, height: 30))
        fixture.load("a", size: size)
        #expect(await fixture.polled { fixture.results.usage.count == 1 && fixture.isQuiet })
        fixture.manager.cache.removeAllFromMemory()
        fixture.clock.advance(by: .seconds(61))
        let confirmed = LoaderResult(data: Data(), metadata: ResponseMetadata(), isNotModified: true)
        fixture.loader.answer(fixture.url("a"), with: .success(confirmed))
        // When it is loaded while others have all memory
        let others = budget.takeForDecoding(budget.decodingLimit)
        let previews = EventLog<PixelSize>()
        let request = ImageRequest(url: fixture.url("a"), cachePolicy: .refresh, decodeSize: size)
        let partial: @Sendable (WebImage) -> Void = { previews.add($0.pixelSize) }
        fixture.load(request, partial: isShownBefore ? partial : nil) {
            fixture.outcomes.add(ManagerFixture.Outcome($0))
        }
        // Then it waits for them
        #expect(await fixture.polled { budget.waitingCount == 1 && fixture.loader.requests.count == 2 })
        #expect(fixture.outcomes.all.count == 1 && previews.all.isEmpty)
        others?.shrink(to: 0)
        let shown = PixelSize(width: 30, height: 30)
        #expect(await fixture.polled { fixture.outcomes.all.count == 2 })
        #expect(fixture.outcomes.all.last == .image(shown, .revalidated) && fixture.decodes.count == 1)
        #expect(previews.all == (isShownBefore ? [shown] : []))
        withExtendedLifetime(others) {}
    }

    /// Decodes files without a header, of 3000 x 2000 pixels.
    private struct HeaderlessCoder: ImageDecoding {
        let budget: MemoryBudget
        let used: EventLog<Int>

        func canDecode(_ format: ImageFormat) -> Bool { true }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            used.add(budget.used.decoding)
            try options.check(PixelSize(width: 3000, height: 2000))
            return WebImage(pixels: PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 }!)
        }
    }

    @Test(
        "An image whose size only its decoder finds is decoded with the memory for it, once there is that much",
        arguments: [false, true]
    )
    func unknownSize(isShared: Bool) async throws {
        // Given a file of which nothing is known before it is decoded
        let (budget, used) = (MemoryBudget(limit: 160 << 20), EventLog<Int>())
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false, hasResults: false) { dependencies in
            dependencies.coders = CoderRegistry([HeaderlessCoder(budget: budget, used: used)])
            dependencies.budget = budget
            dependencies.decodeQueue = WorkQueue(name: "test-decode", threadCount: 1)
        }
        fixture.loader.answer(fixture.url("a"), with: Data("a format of the app".utf8))
        // When there is the memory for 4 megapixels, at first
        let others = budget.takeForDecoding(50 << 20)
        fixture.load("a")
        if isShared { fixture.load("a", transformer: .crop(to: PixelRect(x: 0, y: 0, width: 1, height: 1))) }
        fixture.loader.finish(fixture.url("a"))
        #expect(await fixture.polled { !used.all.isEmpty && budget.waitingCount == (isShared ? 2 : 1) })
        #expect(fixture.outcomes.all.isEmpty)
        others?.shrink(to: 0)
        // Then it is decoded with the memory for its six, for each of the sizes
        #expect(await fixture.polled { fixture.outcomes.all.count == (isShared ? 2 : 1) })
        #expect(fixture.outcomes.all.allSatisfy { $0 == .image(PixelSize(width: 1, height: 1), .loader) })
        #expect(used.all.first == 98 << 20 && used.all.last == 72_000_000, "\(used.all)")
        #expect(used.all.count == 2)
        withExtendedLifetime(others) {}
    }

    @Test("An image whose size only its decoder finds fails when there can never be memory for it")
    func unknownSizeTooLarge() async throws {
        let (budget, used) = (MemoryBudget(limit: 80 << 20), EventLog<Int>())
        let fixture = ManagerFixture { dependencies in
            dependencies.coders = CoderRegistry([HeaderlessCoder(budget: budget, used: used)])
            dependencies.budget = budget
        }
        fixture.loader.answer(fixture.url("a"), with: Data("a format of the app".utf8))
        let error = await #expect(throws: ImageError.self) {
            try await fixture.manager.image(for: ImageRequest(url: fixture.url("a")))
        }
        #expect(error?.code == .imageTooLarge && error?.reason.contains("control group") == true, "\(error as Any)")
        #expect(used.all == [48 << 20] && EventLog<Int>.poll { budget.used == (0, 0, 0) })
    }

    @Test(
        "An image that takes more than there is for all fails with an error that says so, and partial images are left out"
    )
    func tooLarge() async throws {
        let fixture = ManagerFixture { $0.budget = MemoryBudget(limit: 1600) }
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(0, size: PixelSize(width: 20, height: 20)))
        for loading in [ImageRequest.Loading.complete, .progressive] {
            var request = ImageRequest(url: fixture.url("a"))
            request.loading = loading
            do throws(ImageError) {
                _ = try await fixture.manager.image(for: request)
                Issue.record("1600 bytes are more than 1000")
            } catch {
                #expect(error.code == .imageTooLarge && error.url == fixture.url("a"))
                #expect(error.reason.contains("control group") && !error.remedy.isEmpty)
            }
        }
    }

    @Test("An image that is too large at one size loads at another, from the disk cache")
    func tooLargeAtThisSize() async {
        // Given a JPEG of 80 x 80 pixels, and memory for a tenth of it
        let fixture = ManagerFixture(hasResults: false) { $0.budget = MemoryBudget(limit: 4096) }
        let file = TestImage.solid(0xFF0000, size: PixelSize(width: 80, height: 80), format: .jpeg)
        fixture.loader.answer(fixture.url("a"), with: file)
        let small = DecodeSize.contain(PixelSize(width: 10, height: 10))
        // When it fails at its own size, twice
        for count in 1...2 {
            fixture.load("a")
            #expect(await fixture.polled { fixture.outcomes.all.count == count })
            #expect(fixture.outcomes.all.last == .failure(.imageTooLarge))
            #expect(await fixture.polled { fixture.isQuiet })
        }
        // Then its bytes serve a smaller size, and were loaded once
        fixture.load("a", size: small)
        #expect(await fixture.polled { fixture.outcomes.all.count == 3 })
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 10, height: 10), .disk))
        #expect(fixture.loader.requests.count == 1)
    }

    @Test("A size that is too large fails no other one of the same URL, without a disk cache either")
    func tooLargeWithoutDisk() async {
        let fixture = ManagerFixture(hasDisk: false, hasResults: false) { $0.budget = MemoryBudget(limit: 4096) }
        let file = TestImage.solid(0xFF0000, size: PixelSize(width: 80, height: 80), format: .jpeg)
        fixture.loader.answer(fixture.url("a"), with: file)
        fixture.load("a")
        #expect(await fixture.polled { fixture.outcomes.all == [.failure(.imageTooLarge)] })
        fixture.load("a", size: .contain(PixelSize(width: 10, height: 10)))
        #expect(await fixture.polled { fixture.outcomes.all.count == 2 })
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 10, height: 10), .loader))
    }

    @Test("Players whose canvases do not fit show a still image, until another one ends")
    func canvases() async throws {
        // Given memory for one canvas of 10 x 10 pixels
        let fixture = ManagerFixture { $0.budget = MemoryBudget(limit: 16 * 200) }
        let file = TestImage.animation([0xFF0000, 0x00FF00, 0x0000FF], size: PixelSize(width: 10, height: 10))
        fixture.loader.answer(fixture.url("a"), with: file)
        let image = try await fixture.manager.image(for: fixture.url("a"))
        let animation = try #require(image.animation)
        // When two play
        var first: (any FrameDecoding)? = animation.makeDecoder()
        let second = animation.makeDecoder()
        #expect(try first?.frame(at: 1) != nil)
        // Then the second one stays at its first frame
        #expect(thrownError { try second.frame(at: 1) }?.code == .imageTooLarge)
        // And another one plays once the first has ended
        first = nil
        #expect(first == nil && (try? animation.makeDecoder().frame(at: 2)) != nil)
    }

    @Test("An animation larger than any video is refused; its first frame is not")
    func hugeCanvas() throws {
        let (side, source) = (5800, NoFrames())
        let layout = FrameLayout(
            rect: PixelRect(x: 0, y: 0, width: 1, height: 1),
            duration: .seconds(1),
            disposal: .keep,
            isBlended: false,
            hasAlpha: false
        )
        func image(_ options: DecodeOptions) throws(ImageError) -> WebImage {
            try WebImage(
                animated: source,
                layouts: [layout, layout],
                size: PixelSize(width: side, height: side),
                loopCount: 0,
                format: .gif,
                data: Data(count: 1),
                isArriving: false,
                arrival: nil,
                options: options
            )
        }
        let error = thrownError { try image(DecodeOptions()) }
        #expect(error?.code == .imageTooLarge && error?.remedy.contains("isFirstFrameOnly") == true)
        // Whoever follows that advice does not get the same error again.
        #expect(error?.isPermanent == false && error?.dependsOnRequest == true)
        var options = DecodeOptions(size: .contain(PixelSize(width: 10, height: 10)))
        options.isFirstFrameOnly = true
        #expect(try image(options).frameCount == 1)
    }

    private final class NoFrames: FrameSource {
        func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {}
    }

    @Test("Originals are read from disk no faster than they are decoded")
    func bodies() throws {
        // Given originals on disk, of which two fill the share of bodies, and a decoder that stands still
        let gate = Gate()
        gate.close()
        defer { gate.open() }
        // The files are much larger than their images, which have room.
        let file = TestImage.solid(0xFF0000, size: PixelSize(width: 1, height: 1)) + Data(count: 10_000)
        let budget = MemoryBudget(limit: file.count * 2 * 16 / 3)
        let fixture = ManagerFixture { dependencies in
            dependencies.coders = CoderRegistry([CountedCoder(counter: DecodeCount(), gate: gate, makesPixels: true)])
            dependencies.budget = budget
        }
        for number in 0..<20 {
            var entry = CacheEntry(
                key: fixture.url("\(number)").absoluteString,
                data: file,
                response: ResponseMetadata(),
                storedAt: fixture.clock.now
            )
            entry.response.cacheControl = "max-age=1000"
            fixture.disk?.store(entry)
        }
        fixture.disk?.flush()
        // When all are loaded
        for number in 0..<20 { fixture.load("\(number)") }
        // Then five are in memory at most, since four threads read
        #expect(EventLog<Int>.poll { !budget.hasRoomForBody })
        #expect(budget.used.bodies <= file.count * 5)
        // And all of them are decoded in the end
        gate.open()
        fixture.outcomes.wait { $0.count == 20 }
        #expect(fixture.outcomes.all.allSatisfy { $0 == .image(PixelSize(width: 1, height: 1), .disk) })
        #expect(EventLog<Int>.poll { budget.used.bodies == 0 })
    }
}

/// The number of decodes under way, and the most that there were.
private final class DecodeCount: Sendable {
    private let counts = Mutex((now: 0, most: 0))

    var most: Int { counts.withLock { $0.most } }
    var now: Int { counts.withLock { $0.now } }

    func add(_ change: Int) {
        counts.withLock { counts in
            counts.now += change
            counts.most = max(counts.most, counts.now)
        }
    }
}

private struct CountedCoder: ImageDecoding {
    let counter: DecodeCount
    var gate: Gate?
    /// Whether every image is a pixel.
    var makesPixels = false

    func canDecode(_ format: ImageFormat) -> Bool { true }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        counter.add(1)
        defer { counter.add(-1) }
        gate?.wait()
        let size = makesPixels ? PixelSize(width: 1, height: 1) : PixelSize(width: 48, height: 32)
        return WebImage(pixels: PixelBuffer(size: size, format: .rgb) { $0[0] = 1 }!, format: .png)
    }
}

/// Notes the memory that decodes have taken whenever one begins.
private struct UsageCoder: ImageDecoding {
    let budget: MemoryBudget
    let used: EventLog<Int>
    let gate: Gate
    private let coder = CountingCoder()

    init(budget: MemoryBudget, used: EventLog<Int>, gate: Gate) {
        (self.budget, self.used, self.gate) = (budget, used, gate)
    }

    func canDecode(_ format: ImageFormat) -> Bool { true }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        used.add(budget.used.decoding)
        gate.wait()
        return try coder.decode(data, options: options)
    }
}

/// Decodes a file into a pixel, and notes its width. The first one stands still until a gate opens.
private struct LoggingCoder: ImageDecoding {
    let log: EventLog<String>
    let gate: Gate

    func canDecode(_ format: ImageFormat) -> Bool { true }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        let width = ImageHeader(reading: data)?.size.width ?? 0
        log.add("\(width)")
        if width == 98 { gate.wait() }
        return WebImage(pixels: PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 }!)
    }
}
