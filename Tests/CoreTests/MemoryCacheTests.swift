import FoundationEssentials
import Testing

@testable import WebImageCore

@Suite("The memory cache")
struct MemoryCacheTests {
    @Test("Above the limit the least recently used images are evicted first")
    func leastRecentlyUsed() {
        // Given room for three images of 100 pixels each
        let cache = MemoryCache(costLimit: 900)
        for name in ["a", "b", "c"] { cache.store(MemoryEntry(Self.image(), for: Self.key(name))) }
        // When the oldest is used and a fourth one is stored
        _ = cache.entry(for: Self.query("a"))
        cache.store(MemoryEntry(Self.image(), for: Self.key("d")))
        // Then the least recently used one is gone
        #expect(cache.entry(for: Self.query("b")) == nil)
        for name in ["a", "c", "d"] { #expect(cache.entry(for: Self.query(name)) != nil) }
        #expect(cache.totalCost == 900)
    }

    @Test("An evicted image is found again while it is on screen")
    func weakSecondChance() {
        // Given
        let cache = MemoryCache(costLimit: 300)
        var shown: WebImage? = Self.image()
        cache.store(MemoryEntry(shown!, for: Self.key("a")))
        cache.store(MemoryEntry(Self.image(), for: Self.key("b")))
        #expect(cache.totalCost == 300)
        // When it is looked up while something still shows it
        let found = cache.entry(for: Self.query("a"))
        // Then it is the same instance, and its cost counts again
        #expect(found?.image == shown)
        #expect(cache.entry(for: Self.query("b")) == nil)
        // And it is gone when nothing shows it
        cache.removeAll()
        shown = nil
        #expect(cache.entry(for: Self.query("a")) == nil)
    }

    @Test("A removed entry is not found again though it was evicted and is in use, and one in its place stays")
    func removedEntry() {
        // Given an entry that was evicted while somebody holds its image
        let cache = MemoryCache(costLimit: 300)
        let entry = MemoryEntry(Self.image(), for: Self.key("a"))
        cache.store(entry)
        cache.store(MemoryEntry(Self.image(), for: Self.key("b")))
        // When it is removed
        cache.remove(entry)
        // Then it is gone, and no other one
        #expect(cache.entry(for: Self.query("a")) == nil)
        #expect(cache.entry(for: Self.query("b")) != nil && cache.totalCost == 300)
        // When another image has its place
        let newer = Self.image()
        cache.store(MemoryEntry(newer, for: Self.key("a")))
        cache.remove(entry)
        // Then that stays
        #expect(cache.entry(for: Self.query("a"))?.image == newer)
    }

    @Test("Only an image of the same size in pixels is a hit")
    func sizes() {
        // Given an image of 1600x1200 decoded at 256x192
        let cache = MemoryCache(costLimit: 1 << 20)
        cache.store(
            MemoryEntry(Self.image(256, 192, natural: PixelSize(width: 1600, height: 1200)), for: Self.key("a"))
        )
        func asks(_ size: DecodeSize?, larger: Bool = false) -> Bool {
            cache.entry(for: Self.query("a", size, acceptsLarger: larger)) != nil
        }
        #expect(asks(.contain(PixelSize(width: 256, height: 192))))
        #expect(asks(.contain(PixelSize(width: 256, height: 300))))
        #expect(!asks(.contain(PixelSize(width: 128, height: 128))))
        #expect(!asks(.original))
        #expect(asks(nil))
        // A widget that scales accepts an image up to twice as large, but neither a smaller nor a much larger one.
        #expect(asks(.contain(PixelSize(width: 200, height: 200)), larger: true))
        #expect(!asks(.contain(PixelSize(width: 300, height: 300)), larger: true))
        #expect(!asks(.contain(PixelSize(width: 64, height: 64)), larger: true))
    }

    @Test("An image larger than the cache and a partial image are not kept")
    func notKept() {
        let cache = MemoryCache(costLimit: 299)
        cache.store(MemoryEntry(Self.image(), for: Self.key("a")))
        #expect(cache.entry(for: Self.query("a")) == nil)

        let roomy = MemoryCache(costLimit: 1000)
        roomy.store(MemoryEntry(WebImage(pixels: Self.pixels(10, 10), isPartial: true), for: Self.key("a")))
        #expect(roomy.entry(for: Self.query("a")) == nil)
    }

    @Test("Storing again, removing and evicting keep the total cost correct")
    func cost() {
        let cache = MemoryCache(costLimit: 10_000)
        for round in 0..<50 {
            cache.store(MemoryEntry(Self.image(10, 10), for: Self.key("\(round % 7)")))
            cache.store(
                MemoryEntry(
                    Self.image(20, 10, natural: PixelSize(width: 40, height: 20)),
                    for: Self.key("\(round % 7)")
                )
            )
        }
        #expect(cache.totalCost == 7 * (300 + 600))
        cache.removeImages(source: "3")
        #expect(cache.totalCost == 6 * (300 + 600))
        cache.trim(toShare: 0.1)
        #expect(cache.totalCost == 900)
        cache.removeAll()
        #expect(cache.totalCost == 0)
    }

    @Test("The count limit is kept")
    func countLimit() {
        let cache = MemoryCache(costLimit: 1 << 20, countLimit: 3)
        for number in 0..<10 { cache.store(MemoryEntry(Self.image(), for: Self.key("\(number)"))) }
        #expect(cache.statistics.count == 3)
        #expect((0..<10).filter { cache.entry(for: Self.query("\($0)")) != nil } == [7, 8, 9])
        let none = MemoryCache(costLimit: 1 << 20, countLimit: 0)
        none.store(MemoryEntry(Self.image(), for: Self.key("a")))
        #expect(none.statistics.count == 0)
    }

    @Test("The statistics count images, hits, misses and evictions")
    func statistics() {
        let cache = MemoryCache(costLimit: 600)
        for name in ["a", "b", "c"] { cache.store(MemoryEntry(Self.image(), for: Self.key(name))) }
        for name in ["a", "b", "c", "c", "d"] { _ = cache.entry(for: Self.query(name)) }
        let statistics = cache.statistics
        #expect(statistics.count == 2 && statistics.byteCount == 600)
        #expect(statistics.hitCount == 3 && statistics.missCount == 2 && statistics.evictionCount == 1)
        cache.removeAll()
        #expect(cache.statistics.count == 0 && cache.statistics.hitCount == 3)
    }

    @Test(
        "Under memory pressure the least recently used images are evicted, as many as the level asks for",
        arguments: [(MemoryPressure.moderate, 5), (.high, 2), (.critical, 0)]
    )
    func pressure(pressure: MemoryPressure, left: Int) {
        let cache = MemoryCache(costLimit: 3000)
        for number in 0..<10 { cache.store(MemoryEntry(Self.image(), for: Self.key("\(number)"))) }
        cache.trim(toShare: pressure.share)
        #expect(cache.statistics.count == left)
        if left > 0 { #expect(cache.entry(for: Self.query("9")) != nil) }
    }

    @Test("The weak references of thousands of evicted images are removed")
    func sweep() {
        let cache = MemoryCache(costLimit: 3000)
        for number in 0..<5000 { cache.store(MemoryEntry(Self.image(), for: Self.key("\(number)"))) }
        #expect(cache.totalCost == 3000)
        #expect(cache.entry(for: Self.query("4999")) != nil)
        #expect(cache.entry(for: Self.query("17")) == nil)
        #expect(cache.slotCount < 200)
    }

    private static func key(_ name: String) -> ImageKey {
        ImageKey(ImageRequest(url: URL(string: name)!))
    }

    private static func query(
        _ name: String,
        _ size: DecodeSize? = .original,
        acceptsLarger: Bool = false
    ) -> MemoryQuery {
        var request = ImageRequest(url: URL(string: name)!, decodeSize: size)
        request.acceptsLarger = acceptsLarger
        return MemoryQuery(request, inAnySize: size == nil)
    }

    private static func image(_ width: Int = 10, _ height: Int = 10, natural: PixelSize? = nil) -> WebImage {
        WebImage(pixels: pixels(width, height), naturalSize: natural)
    }

    private static func pixels(_ width: Int, _ height: Int) -> PixelBuffer {
        PixelBuffer(size: PixelSize(width: width, height: height), format: .rgb) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
        }!
    }
}
