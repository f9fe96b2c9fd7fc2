import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

@Suite("Loading an image of several files")
struct VariantLoadTests {
    /// A manager whose loader has the files 100, 200 and 400 of an image, which are as wide as their names say.
    private static func makeFixture(
        dispatcher: any CallbackDispatching = InlineDispatcher(),
        change: (inout Pipeline.Dependencies) -> Void = { _ in }
    ) -> ManagerFixture {
        let fixture = ManagerFixture(dispatcher: dispatcher, change: change)
        for width in [100, 200, 400] {
            let image = TestImage.solid(UInt32(width), size: PixelSize(width: width, height: width))
            fixture.loader.answer(fixture.url("\(width)"), with: image)
        }
        return fixture
    }

    private let fixture = makeFixture()

    private var variants: ImageVariants {
        var variants = ImageVariants(
            url: fixture.url("photo"),
            widths: [100: fixture.url("100"), 200: fixture.url("200"), 400: fixture.url("400")]
        )
        variants.aspectRatio = 1
        return variants
    }

    private var densities: ImageVariants {
        ImageVariants(url: fixture.url("100"), densities: [2: fixture.url("200"), 4: fixture.url("400")])
    }

    private func request(_ side: Int?, _ variants: ImageVariants? = nil) -> ImageRequest {
        var request = (variants ?? self.variants).imageRequest
        request.decodeSize = side.map { .contain(PixelSize(width: $0, height: $0)) }
        return request
    }

    private func load(_ request: ImageRequest, by fixture: ManagerFixture? = nil) async throws -> ImageResponse {
        let fixture = fixture ?? self.fixture
        let response = try await fixture.manager.response(for: request)
        #expect(await fixture.polled { fixture.isQuiet })
        return response
    }

    private var started: [String] { fixture.loader.started.map(\.lastPathComponent) }

    @Test("The file that fits is loaded, and the largest for a load without a size")
    func choice() async throws {
        #expect(try await load(request(150)).url == fixture.url("200"))
        #expect(try await load(request(80)).image.pixelSize.width == 80)
        #expect(try await load(request(nil)).image.pixelSize.width == 400)
        #expect(started == ["200", "400"])
        #expect(fixture.load(request(150)) { _ in }.request.url == fixture.url("200"))
    }

    @Test("A prefetcher loads the file that a load at the same size would load")
    func prefetched() async {
        let fixture = Self.makeFixture(dispatcher: MainQueueDispatcher())
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let (all, medium, small) = (request(nil), request(150), request(80))
        func prefetch(_ request: ImageRequest, to destination: PrefetchDestination) async {
            await withCheckedContinuation { continuation in
                _ = prefetcher.prefetch([request], to: destination) { _ in continuation.resume() }
            }
            #expect(await fixture.polled { fixture.isQuiet })
        }
        await prefetch(small, to: .automatic)
        await prefetch(medium, to: .disk)
        await prefetch(all, to: .automatic)
        #expect(fixture.loader.started.map(\.lastPathComponent) == ["100", "200", "400"])
    }

    @Test("An image without files is loaded from its own URL")
    func empty() async throws {
        let variants = ImageVariants(url: fixture.url("100"), widths: [:])
        #expect(try await load(variants.imageRequest).url == fixture.url("100"))
    }

    @Test("A larger file in memory serves where an image up to twice as large may")
    func memory() async throws {
        // Given the file of 200 pixels in memory, decoded at 180
        _ = try await load(request(180))
        await fixture.manager.cache.remove(request(180), from: .disk)
        // When a widget asks for what the one of 100 pixels has
        var small = request(95)
        small.acceptsLarger = true
        let response = try await load(small)
        // Then nothing is loaded
        #expect(response.source == .memory)
        #expect(response.url == fixture.url("200"))
        #expect(fixture.manager.cachedImage(for: small)?.pixelSize.width == 180)
        #expect(started == ["200"])
        // When what asks has no use for a larger one
        #expect(try await load(request(95)).url == fixture.url("100"))
    }

    @Test("A larger file on disk is decoded at the size asked for instead of a download, also when it is not fresh")
    func disk() async throws {
        _ = try await load(request(400))
        await fixture.manager.cache.remove(request(400), from: .memory)
        let response = try await load(request(90))
        #expect(response.image.pixelSize.width == 90)
        #expect(response.source == .disk)
        #expect(response.url == fixture.url("400"))
        #expect(started == ["400"])
    }

    @Test("The file that fits comes before a larger one on disk")
    func closest() async throws {
        for side in [100, 400] { _ = try await load(request(side)) }
        await fixture.manager.cache.remove(request(90), from: .memory)
        #expect(try await load(request(90)).url == fixture.url("100"))
    }

    @Test("A smaller file in the caches never serves")
    func smaller() async throws {
        _ = try await load(request(100))
        var large = request(300)
        large.acceptsLarger = true
        #expect(fixture.manager.cachedImage(for: large) == nil)
        #expect(try await load(large).image.pixelSize.width == 300)
        #expect(started == ["100", "400"])
    }

    @Test("While a larger file loads, the smaller one that is in memory is shown")
    func preview() async throws {
        _ = try await load(request(100))
        var large = request(300)
        large.loading = .progressive
        let partials = EventLog<Int>()
        let fixture = fixture
        fixture.load(large, partial: { partials.add($0.pixelSize.width) }) { fixture.outcomes.add(.init($0)) }
        #expect(await fixture.polled { fixture.outcomes.all.count == 1 })
        #expect(partials.all.first == 100)
    }

    @Test("A larger file that is stale is validated, and that it is gone makes the load take the one that fits")
    func stale() async throws {
        // Given a large file on disk that has to be validated
        var metadata = ResponseMetadata(contentType: "image/png")
        (metadata.etag, metadata.cacheControl) = ("\"1\"", "no-cache")
        let image = TestImage.solid(4, size: PixelSize(width: 400, height: 400))
        fixture.loader.answer(fixture.url("400"), with: .success(LoaderResult(data: image, metadata: metadata)))
        _ = try await load(request(400))
        await fixture.manager.cache.remove(request(400), from: .memory)
        // When the server confirms it
        let confirmation = LoaderResult(data: Data(), metadata: metadata, isNotModified: true)
        fixture.loader.answer(fixture.url("400"), with: .success(confirmation))
        // Then its pixels serve
        #expect(try await load(request(90)).url == fixture.url("400"))
        await fixture.manager.cache.remove(request(400), from: .memory)
        // When the server has it no more
        let head = ResponseHead(url: URL(filePath: "/"), status: 404)
        let gone = ImageError(.badStatus, url: nil, reason: "gone", remedy: "none", head: head)
        fixture.loader.answer(fixture.url("400"), with: .failure(gone))
        #expect(try await load(request(80)).url == fixture.url("100"))
    }

    @Test("The file that fits has its own key in the caches, also when it is loaded since a larger one is gone")
    func staleKey() async throws {
        func named(_ side: Int) -> ImageRequest {
            var request = request(side)
            request.cacheKey = "photo"
            return request
        }
        // Given a large file on disk that has to be validated, and that the server has no more
        var metadata = ResponseMetadata(contentType: "image/png")
        (metadata.etag, metadata.cacheControl) = ("\"1\"", "no-cache")
        let image = TestImage.solid(4, size: PixelSize(width: 400, height: 400))
        fixture.loader.answer(fixture.url("400"), with: .success(LoaderResult(data: image, metadata: metadata)))
        _ = try await load(named(400))
        await fixture.manager.cache.remove(named(400), from: .memory)
        let head = ResponseHead(url: URL(filePath: "/"), status: 404)
        let gone = ImageError(.badStatus, url: nil, reason: "gone", remedy: "none", head: head)
        fixture.loader.answer(fixture.url("400"), with: .failure(gone))
        // When a smaller one is loaded in its place
        #expect(try await load(named(80)).url == fixture.url("100"))
        // Then it is where the next load of it looks.
        #expect(fixture.disk?.contains("photo 100w") == true)
        #expect(fixture.disk?.contains(fixture.url("100").absoluteString) == false)
    }

    @Test("An image has the same size in application pixels at each density, also when a denser file serves")
    func density() async throws {
        for scale in [1.0, 2, 3] {
            var request = request(nil, densities)
            request.displayScale = scale
            let image = try await load(request).image
            #expect(image.logicalWidth == 100)
            #expect(image.scale == (scale == 3 ? 4 : scale))
        }
        #expect(started == ["100", "200", "400"])
        // When only the densest is on disk
        fixture.manager.cache.removeAllFromMemory()
        var plain = request(
            nil,
            ImageVariants(url: fixture.url("none"), densities: [1: fixture.url("x"), 4: fixture.url("400")])
        )
        plain.displayScale = 1
        let image = try await load(plain).image
        #expect(image.logicalWidth == 100)
    }

    @Test("The calls of the cache concern all files of an image")
    func cache() async throws {
        for side in [100, 400] { _ = try await load(request(side)) }
        let cache = fixture.manager.cache
        #expect(await cache.tiers(containing: request(150)).contains(.originals))
        #expect(await cache.data(for: request(150)) != nil)
        await cache.remove(request(150), from: .memory)
        #expect(fixture.manager.cachedImage(for: request(100)) == nil)
        #expect(fixture.manager.cachedImage(for: request(400)) == nil)
        await cache.remove(request(150))
        #expect(await cache.diskUsage().count == 0)
        #expect(await cache.data(for: request(150)) == nil)
    }

    @Test("Files that a key or a filter of the app would make one are kept apart", arguments: [true, false])
    func keys(hasOwnKey: Bool) async throws {
        let fixture = Self.makeFixture { $0.cacheKeyFilter = CacheKeyFilter { _ in "photo" } }
        var (small, large) = (request(100), request(400))
        if hasOwnKey { (small.cacheKey, large.cacheKey) = ("own", "own") }
        #expect(try await load(small, by: fixture).image.pixelSize.width == 100)
        #expect(try await load(large, by: fixture).image.pixelSize.width == 400)
        // A request that a task has used before means the same files.
        let task = fixture.load(small) { _ in }
        #expect(fixture.manager.cachedImage(for: task.request)?.pixelSize.width == 100)
        await fixture.manager.cache.remove(large)
        #expect(await fixture.manager.cache.diskUsage().count == 0)
    }

    @Test("A request whose task was loaded before can be loaded at another size")
    func reused() async throws {
        var request = fixture.load(request(100)) { _ in }.request
        request.decodeSize = .contain(PixelSize(width: 400, height: 400))
        #expect(try await load(request).url == fixture.url("400"))
    }

    @Test("On a metered network the URL for it is loaded and no variant")
    func metered() async throws {
        fixture.network.status = ImageNetworkStatus(isAvailable: true, isMetered: true)
        var request = request(400)
        request.lowDataURL = fixture.url("100")
        #expect(try await load(request).url == fixture.url("100"))
    }

    @Test("A disk that hangs does not hold the load up")
    func hangingDisk() async {
        let (gate, watchClock, reads) = (Gate(), ManualClock(), EventLog<String>())
        gate.close()
        defer { gate.open() }
        let fixture = Self.makeFixture {
            $0.dataCache = SlowCache(gate: gate, reads: reads)
            $0.diskWatchClock = watchClock
        }
        fixture.manager.load(request(100), on: InlineDispatcher()) { fixture.outcomes.add(.init($0)) }
        #expect(await fixture.polled { reads.all.count == 1 })
        #expect(fixture.manager.runningTasks.count == 1)
        for _ in 0..<3 {
            watchClock.advance(by: .seconds(2))
            fixture.settle()
        }
        let isLoaded = await fixture.polled {
            watchClock.advance(by: .seconds(2))
            return fixture.outcomes.all == [.image(PixelSize(width: 100, height: 100), .loader)]
        }
        #expect(isLoaded)
    }

    @Test("A load that is cancelled while the disk is asked ends and loads nothing")
    func cancelled() async {
        let (gate, reads) = (Gate(), EventLog<String>())
        gate.close()
        let fixture = Self.makeFixture {
            $0.dataCache = SlowCache(gate: gate, reads: reads)
            $0.diskWatchClock = ManualClock()
        }
        let task = fixture.manager.load(request(100), on: InlineDispatcher()) { fixture.outcomes.add(.init($0)) }
        #expect(await fixture.polled { reads.all.count == 1 })
        task.cancel()
        gate.open()
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(fixture.outcomes.all == [.failure(.cancelled)])
        #expect(fixture.loader.started.isEmpty)
    }
}

/// A cache that answers when its gate is open.
private final class SlowCache: DataCaching {
    private let gate: Gate
    private let reads: EventLog<String>

    init(gate: Gate, reads: EventLog<String>) {
        self.gate = gate
        self.reads = reads
    }

    func entry(for key: String) -> CacheEntry? {
        reads.add(key)
        gate.wait()
        return nil
    }

    func store(_ entry: CacheEntry) {}
    func remove(_ key: String) {}
    func removeAll() {}
    var usage: CacheUsage { CacheUsage() }
}
