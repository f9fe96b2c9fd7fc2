import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Loading an image in the quality that the connection allows")
struct QualityTests {
    private let fixture = ManagerFixture()
    private let side = 40

    init() {
        // Each quality has a shade of its own.
        for (number, name) in Self.names.enumerated() {
            let image = TestImage.solid(UInt32(number + 1) * 0x101010, size: PixelSize(width: 40, height: 40))
            fixture.loader.answer(fixture.url(name), with: image)
        }
    }

    private static let names = ["low", "medium", "high"]

    private var variants: ImageVariants {
        ImageVariants(url: fixture.url("low"), qualities: Self.names.map { fixture.url($0) })
    }

    /// Makes the connection as fast as one on which a body has just arrived.
    private func transfer(bytesPerSecond: Int64) async throws {
        var metrics = TransferMetrics()
        (metrics.receivedByteCount, metrics.total) = (bytesPerSecond, .seconds(1))
        // What was before hardly counts any more.
        fixture.clock.advance(by: .seconds(290))
        let url = fixture.url("speed \(bytesPerSecond) \(UInt64.random(in: 0 ... .max))".replacing(" ", with: "-"))
        let data = TestImage.solid(1, size: PixelSize(width: 2, height: 2))
        fixture.loader.answer(url, with: .success(LoaderResult(data: data, metrics: metrics)))
        _ = try await fixture.manager.image(for: url)
    }

    private func load(_ variants: ImageVariants, policy: CachePolicy = .standard) async throws -> ImageResponse {
        var request = variants.imageRequest
        request.cachePolicy = policy
        let response = try await fixture.manager.response(for: request)
        #expect(await fixture.polled { fixture.isQuiet })
        return response
    }

    private var started: [String] {
        fixture.loader.started.map(\.lastPathComponent).filter { Self.names.contains($0) }
    }

    @Test("A slow connection loads the lowest quality, a fast one the highest, one between a medium one")
    func speeds() async throws {
        #expect(fixture.manager.downloadSpeed == nil)
        #expect(try await load(variants, policy: .reload).url == fixture.url("high"))
        for (speed, name) in [(20_000, "low"), (1_000_000, "high"), (275_000, "medium")] as [(Int64, String)] {
            try await transfer(bytesPerSecond: speed)
            let known = try #require(fixture.manager.downloadSpeed)
            #expect(abs(known - Double(speed)) < Double(speed) / 10, "\(known)")
            #expect(try await load(variants, policy: .reload).url == fixture.url(name))
        }
        // A metered connection is spared, however fast.
        try await transfer(bytesPerSecond: 1_000_000)
        fixture.network.status = NetworkStatus(isMetered: true)
        #expect(try await load(variants, policy: .reload).url == fixture.url("low"))
        // On another network nothing is known.
        fixture.network.status = NetworkStatus()
        #expect(fixture.manager.downloadSpeed == nil)
    }

    @Test("A higher quality in memory or on disk serves for a lower one", arguments: [false, true])
    func higher(isOnDisk: Bool) async throws {
        _ = try await load(variants)
        try await transfer(bytesPerSecond: 20_000)
        if isOnDisk { fixture.manager.cache.removeAllFromMemory() }
        let response = try await load(variants)
        #expect(response.source == (isOnDisk ? .disk : .memory) && response.url == fixture.url("high"))
        #expect(response.image.shade == 0x30)
        #expect(started == ["high"])
    }

    @Test(
        "A lower quality in memory or on disk is shown first, and the one that the connection allows replaces it",
        arguments: [false, true]
    )
    func replaced(isOnDisk: Bool) async throws {
        try await transfer(bytesPerSecond: 20_000)
        _ = try await load(variants)
        try await transfer(bytesPerSecond: 1_000_000)
        if isOnDisk { fixture.manager.cache.removeAllFromMemory() }
        // When it is loaded again, and shows partial images
        var request = variants.imageRequest
        request.loading = .progressive
        let (partials, ends) = (EventLog<WebImage>(), EventLog<ImageResponse?>())
        let gated = fixture
        gated.manager.load(request, on: InlineDispatcher(), partial: { partials.add($0) }) { ends.add(try? $0.get()) }
        #expect(await fixture.polled { ends.all.count == 1 && gated.isQuiet })
        #expect(ends.all.first??.url == fixture.url("high") && ends.all.first??.image.shade == 0x30)
        if !isOnDisk { #expect(partials.all.map(\.shade) == [0x10]) }
        #expect(partials.all.allSatisfy { $0.shade == 0x10 && $0.isPreview })
        #expect(started == ["low", "high"])
    }

    @Test("From the disk it is there while the transfer runs")
    func shownMeanwhile() async throws {
        try await transfer(bytesPerSecond: 20_000)
        _ = try await load(variants)
        fixture.manager.cache.removeAllFromMemory()
        try await transfer(bytesPerSecond: 1_000_000)
        // Given a server that does not answer
        let held = FakeLoader(holdsResponses: true)
        var request = variants.imageRequest
        (request.loading, request.loader) = (.progressive, held)
        let partials = EventLog<WebImage>()
        let task = fixture.manager.load(request, on: InlineDispatcher(), partial: { partials.add($0) }) { _ in }
        #expect(await fixture.polled { partials.all.count == 1 && held.runningCount == 1 })
        #expect(partials.all[0].shade == 0x10 && partials.all[0].isPreview)
        task.cancel()
        #expect(await fixture.polled { fixture.isQuiet && held.runningCount == 0 })
    }

    @Test("A lower quality is good enough where the app says so", arguments: [false, true])
    func kept(isOnDisk: Bool) async throws {
        try await transfer(bytesPerSecond: 20_000)
        _ = try await load(variants)
        try await transfer(bytesPerSecond: 1_000_000)
        if isOnDisk { fixture.manager.cache.removeAllFromMemory() }
        var variants = variants
        variants.replacesLowerQuality = false
        let response = try await load(variants)
        #expect(response.source == (isOnDisk ? .disk : .memory) && response.url == fixture.url("low"))
        #expect(started == ["low"])
        if !isOnDisk { #expect(fixture.manager.cachedImage(for: variants)?.shade == 0x10) }
        #expect(await fixture.manager.cache.data(for: variants) != nil)
    }

    @Test("Each quality has a place of its own in the caches, and all of them are removed together")
    func places() async throws {
        for speed in [20_000, 275_000, 1_000_000] as [Int64] {
            try await transfer(bytesPerSecond: speed)
            _ = try await load(variants)
        }
        #expect(started == Self.names)
        await fixture.manager.cache.remove(variants)
        for name in Self.names {
            #expect(await fixture.manager.cache.tiers(containing: fixture.url(name)).isEmpty)
        }
        // With a key of the app, too.
        var request = variants.imageRequest
        request.cacheKey = "photo"
        _ = try await fixture.manager.image(for: request)
        #expect(fixture.manager.cacheKey(for: request) == "photo quality 2")
        #expect(started.count == 4)
    }

    @Test("When the chosen quality fails, the fallbacks follow")
    func failure() async throws {
        let missing = ImageVariants(url: fixture.url("low"), qualities: [fixture.url("low"), fixture.url("gone")])
        var request = missing.imageRequest
        request.fallbackURLs = [fixture.url("low")]
        let response = try await fixture.manager.response(for: request)
        #expect(response.url == fixture.url("low"))
    }
}

extension WebImage {
    /// The level of a grey image.
    fileprivate var shade: UInt8 { pixels.withUnsafeBytes { $0[0] } }
}
