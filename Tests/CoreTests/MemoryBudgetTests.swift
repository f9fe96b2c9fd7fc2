import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("The memory of all loads")
struct MemoryBudgetTests {
    /// Of which decodes may take 1000 bytes, and what lasts and bodies 300 each.
    private let budget = MemoryBudget(limit: 1600)

    @Test("Decodes wait for memory in their order, and a small one does not overtake")
    func order() throws {
        // Given a decode that takes most of the memory
        let queue = WorkQueue(name: "test", threadCount: 3)
        let log = EventLog<Int>()
        var first = budget.waitForDecoding(800) { false }
        #expect(first != nil && budget.used.decoding == 800)
        // When a large and then a small one want some
        let (budget, gate) = (budget, Gate())
        gate.close()
        for byteCount in [900, 100] {
            queue.submit {
                let reservation = budget.waitForDecoding(byteCount) { false }
                log.add(byteCount)
                gate.wait()
                withExtendedLifetime(reservation) {}
            }
            try #require(EventLog<Int>.poll { budget.waitingCount == (byteCount == 900 ? 1 : 2) })
        }
        // Then both wait until the first has ended
        #expect(log.all.isEmpty)
        first = nil
        log.wait { $0.count == 2 }
        #expect(Set(log.all) == [900, 100] && budget.used.decoding == 1000)
        gate.open()
        #expect(EventLog<Int>.poll { budget.used.decoding == 0 })
    }

    @Test("A decode that nobody waits for stops waiting, and lets the next one pass")
    func cancellation() throws {
        let (budget, queue, log) = (budget, WorkQueue(name: "test", threadCount: 2), EventLog<String>())
        let first = budget.waitForDecoding(600) { false }
        let cancelled = Flag()
        queue.submit {
            let reservation = budget.waitForDecoding(900) { cancelled.value }
            log.add(reservation == nil ? "cancelled" : "taken")
        }
        try #require(EventLog<Int>.poll { budget.waitingCount == 1 })
        queue.submit {
            let reservation = budget.waitForDecoding(100) { false }
            log.add("small \(reservation != nil)")
        }
        try #require(EventLog<Int>.poll { budget.waitingCount == 2 })
        cancelled.set()
        log.wait { $0.count == 2 }
        #expect(Set(log.all) == ["cancelled", "small true"])
        withExtendedLifetime(first) {}
    }

    private final class Flag: Sendable {
        private let flag = Mutex(false)

        var value: Bool { flag.withLock { $0 } }

        func set() { flag.withLock { $0 = true } }
    }

    @Test("What lasts is refused rather than waited for, and does not take the memory of decodes")
    func lasting() {
        var kept = [budget.keep(200)]
        #expect(budget.keep(200) == nil && budget.used.lasting == 200)
        #expect(budget.waitForDecoding(1000) { true } != nil)
        kept = []
        #expect(kept.isEmpty && budget.keep(300) != nil)
    }

    @Test("No more images are decoded at a time than fit, and all of them are decoded")
    func decodes() {
        // Given memory for three images of 48 x 32 pixels
        let counter = DecodeCount()
        let budget = MemoryBudget(limit: 48 * 32 * 4 * 3 * 16 / 10 + 16)
        let fixture = ManagerFixture { dependencies in
            dependencies.coders = CoderRegistry([CountedCoder(counter: counter)])
            dependencies.decodeQueue = WorkQueue(name: "test-decode", threadCount: 8)
            dependencies.budget = budget
        }
        let file = TestImage.solid(0xFF0000, size: PixelSize(width: 48, height: 32))
        // When a hundred are loaded
        for number in 0..<100 {
            fixture.loader.answer(fixture.url("\(number)"), with: file)
            fixture.load("\(number)")
        }
        // Then all are there, and never were more than three under way
        fixture.outcomes.wait { $0.count == 100 }
        #expect(fixture.outcomes.all.allSatisfy { $0 == .image(PixelSize(width: 48, height: 32), .loader) })
        #expect(counter.most <= 3 && counter.most > 0)
        #expect(EventLog<Int>.poll { budget.used == (0, 0, 0) })
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
        let file = AnimatedFile(
            source,
            [layout, layout],
            size: PixelSize(width: side, height: side),
            loopCount: 0,
            format: .gif,
            byteCount: 1
        )
        let error = thrownError { try file.image(DecodeOptions()) }
        #expect(error?.code == .imageTooLarge && error?.remedy.contains("isFirstFrameOnly") == true)
        // Whoever follows that advice does not get the same error again.
        #expect(error?.isPermanent == false && error?.dependsOnRequest == true)
        var options = DecodeOptions(size: .contain(PixelSize(width: 10, height: 10)))
        options.isFirstFrameOnly = true
        #expect(try file.image(options).frameCount == 1)
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
