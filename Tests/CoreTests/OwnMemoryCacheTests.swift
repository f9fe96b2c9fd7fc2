import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// A memory cache as an app would write one: the newest images of a fixed number, in a dictionary.
private final class NewestImages: MemoryCaching {
    private struct State {
        var entries: [String: [MemoryEntry]] = [:]
        var order: [String] = []
        var statistics = MemoryCacheStatistics()
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
    }

    func entry(for query: MemoryQuery) -> MemoryEntry? {
        state.withLock { state in
            let found = query.best(of: state.entries[query.key.source] ?? [])
            if found != nil { state.statistics.hitCount += 1 }
            if found == nil, !query.isRepeated { state.statistics.missCount += 1 }
            return found
        }
    }

    func store(_ entry: MemoryEntry) {
        state.withLock { state in
            let source = entry.key.source
            state.entries[source, default: []].removeAll { entry.replaces($0) }
            state.entries[source, default: []].append(entry)
            state.order.removeAll { $0 == source }
            state.order.append(source)
            while state.order.count > limit { state.entries[state.order.removeFirst()] = nil }
            state.statistics.count = state.entries.values.reduce(0) { $0 + $1.count }
        }
    }

    func removeImages(source: String) {
        state.withLock { state in
            state.entries[source] = nil
            state.order.removeAll { $0 == source }
        }
    }

    func removeAll() { state.withLock { $0 = State() } }

    func trim(toShare share: Double) { if share < 0.5 { removeAll() } }

    var statistics: MemoryCacheStatistics { state.withLock { $0.statistics } }
}

@Suite("A memory cache of the app's own")
struct OwnMemoryCacheTests {
    private let loader = FakeLoader()
    private let clock = ManualClock()
    private let cache = NewestImages(limit: 3)
    private let file = TestImage.solid(0x336699, size: PixelSize(width: 400, height: 300))

    private func manager(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) -> ImageManager {
        ImageManager.testing(loader, clock: clock) {
            $0.memoryCache = cache
            change(&$0)
        }
    }

    private func url(_ name: String) -> URL { URL(string: "http://host/\(name)")! }

    private func request(_ name: String, width: Int, isOfWidget: Bool = false) -> ImageRequest {
        let size = DecodeSize.contain(PixelSize(width: width, height: width))
        var request = ImageRequest(url: url(name), decodeSize: size)
        request.acceptsLarger = isOfWidget
        return request
    }

    @Test("Loads are kept in it and served from it, and its own rule decides what is evicted")
    func loads() async throws {
        let manager = manager()
        for name in ["a", "b", "c", "d"] {
            loader.answer(url(name), with: file)
            _ = try await manager.image(for: url(name))
        }
        #expect(manager.cachedImage(for: url("a")) == nil)
        for name in ["b", "c", "d"] {
            #expect(try await manager.response(for: url(name)).source == .memory)
        }
        #expect(manager.cache.memoryStatistics.hitCount == 3 && manager.cache.memoryStatistics.count == 3)
        manager.cache.removeFromMemory(url("b"))
        #expect(manager.cachedImage(for: url("b")) == nil)
        manager.trimMemory(for: .critical)
        #expect(manager.cachedImage(for: url("c")) == nil)
    }

    @Test("A larger image serves a widget up to twice its size, the app's own at any size, and nobody else")
    func largerServes() async throws {
        let manager = manager()
        loader.answer(url("a"), with: file)
        let image = try await manager.image(for: request("a", width: 100))
        #expect(manager.cachedImage(for: request("a", width: 60, isOfWidget: true)) == image)
        #expect(manager.cachedImage(for: request("a", width: 60)) == nil)
        #expect(manager.cachedImage(for: request("a", width: 40, isOfWidget: true)) == nil)
        #expect(manager.cachedImage(for: request("a", width: 120, isOfWidget: true)) == nil)
        // Of two that serve, the smaller one is better.
        let larger = try await manager.image(for: request("a", width: 110))
        #expect(larger != image && manager.cachedImage(for: request("a", width: 60, isOfWidget: true)) == image)
        manager.cache.store(larger, for: url("own"), in: .memory)
        #expect(manager.cachedImage(for: request("own", width: 9, isOfWidget: true)) == larger)
        // Another transformer is another image.
        var round = request("a", width: 100)
        round.transformer = .circle()
        #expect(manager.cachedImage(for: round) == nil)
    }

    @Test("An image replaces the one of its size, and not those of other sizes")
    func replacing() async throws {
        let manager = manager()
        loader.answer(url("a"), with: file)
        for width in [100, 200] {
            for policy in [CachePolicy.standard, .reload] {
                var request = request("a", width: width)
                request.cachePolicy = policy
                if policy == .standard { manager.cache.removeAllFromMemory() }
                _ = try await manager.image(for: request)
            }
        }
        #expect(manager.cache.memoryStatistics.count == 1)
        _ = try await manager.image(for: request("a", width: 100))
        #expect(manager.cache.memoryStatistics.count == 2)
    }

    @Test("Images that expire serve no more, though the cache still has them")
    func expiry() async throws {
        let manager = manager { $0.memoryCacheLifetime = .seconds(60) }
        loader.answer(url("a"), with: file)
        _ = try await manager.image(for: url("a"))
        clock.advance(by: .seconds(59))
        #expect(manager.cachedImage(for: url("a")) != nil)
        clock.advance(by: .seconds(1))
        #expect(manager.cachedImage(for: url("a")) == nil)
        #expect(cache.statistics.count == 1)
        #expect(try await manager.response(for: url("a")).source == .loader)
    }
}
