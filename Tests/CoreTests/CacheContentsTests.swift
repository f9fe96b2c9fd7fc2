import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("The contents of the caches")
struct CacheContentsTests {
    private let fixture = ManagerFixture()
    private let picture = TestImage.solid(0x336699, size: PixelSize(width: 400, height: 300))

    private var cache: ImageCache { fixture.manager.cache }

    /// Loads an image at a small size, of which a rendition is kept.
    private func load(_ name: String) async throws -> ImageRequest {
        let url = fixture.url(name)
        let request = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 100, height: 100)))
        fixture.loader.answer(url, with: picture)
        let count = fixture.results.usage.count
        _ = try await fixture.manager.response(for: request)
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.results.usage.count > count })
        return request
    }

    @Test("Images in memory are listed with their size and date, the most recently used first")
    func memory() async throws {
        let start = fixture.clock.now
        let requests = [try await load("a"), try await load("b"), try await load("c")]
        #expect(cache.memoryEntries().map(\.key.source) == requests.map(\.url.absoluteString).reversed())
        #expect(fixture.manager.cachedImage(for: requests[0]) != nil)
        let entries = cache.memoryEntries(limit: 2)
        #expect(entries.map(\.key.source) == [requests[0], requests[2]].map(\.url.absoluteString))
        #expect(entries.allSatisfy { $0.storedAt >= start && $0.storedAt <= fixture.clock.now })
        let all = cache.memoryEntries()
        #expect(all.reduce(0) { $0 + $1.image.cost } == cache.memoryStatistics.byteCount)
        cache.removeFromMemory(requests[0])
        #expect(cache.memoryEntries().map(\.key.source) == [requests[2], requests[1]].map(\.url.absoluteString))
        cache.removeAllFromMemory()
        #expect(cache.memoryEntries().isEmpty && cache.memoryEntries(limit: 0).isEmpty)
    }

    @Test("A binding that asks the memory before it loads counts one miss")
    func misses() async throws {
        let url = fixture.url("a")
        fixture.loader.answer(url, with: picture)
        let request = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 100, height: 100)))
        #expect(fixture.manager.memoryHit(for: request, inAnySize: false) == nil)
        #expect(fixture.manager.memoryHit(for: request, inAnySize: true) == nil)
        _ = try await fixture.manager.response(for: request)
        #expect(cache.memoryStatistics.missCount == 1)
        #expect(fixture.manager.memoryHit(for: request, inAnySize: false) != nil)
        #expect(cache.memoryStatistics.hitCount == 1 && cache.memoryStatistics.missCount == 1)
    }

    @Test("Evicted and expired images are not listed")
    func evicted() {
        let cache = MemoryCache(costLimit: 600)
        let key = { (number: Int) in ImageKey(ImageRequest(url: URL(string: "https://example.org/\(number)")!)) }
        let images = (0..<3).map { _ in
            WebImage(pixels: PixelBuffer(size: PixelSize(width: 10, height: 10), format: .rgb) { _ in }!)
        }
        for (number, image) in images.enumerated() { cache.store(MemoryEntry(image, for: key(number))) }
        // Two of three fit; the first is still in use.
        #expect(cache.entries(limit: 9).map(\.key) == [key(2), key(1)])
        let clock = ManualClock()
        cache.store(MemoryEntry(images[0], for: key(0), expiry: MemoryExpiry(.seconds(5), clock)))
        #expect(cache.entries(limit: 9).map(\.key) == [key(0), key(2)])
        clock.advance(by: .seconds(6))
        #expect(cache.entries(limit: 9).map(\.key) == [key(2)])
    }

    @Test("Files on disk are listed with their kind and size, the newest first, and their keys name the images")
    func disk() async throws {
        let requests = [try await load("a"), try await load("b")]
        let files = await cache.diskFiles()
        #expect(Set(files.map(\.key)) == Set(requests.map(\.url.absoluteString)))
        #expect(files.count { !$0.isRendition } == 2 && files.count { $0.isRendition } == 2)
        let sizes = files.map { $0.isRendition ? PixelSize(width: 100, height: 75) : nil }
        #expect(files.map(\.pixelSize) == sizes && Set(files.map(\.id)).count == 4)
        let usage = await cache.diskUsage()
        #expect(files.reduce(0) { $0 + $1.byteCount } == usage.byteCount && usage.byteCount <= usage.byteLimit ?? 0)
        #expect(zip(files, files.dropFirst()).allSatisfy { $0.storedAt >= $1.storedAt })
        #expect(await cache.diskFiles(limit: 1) == [files[0]])
        // When an image is removed by its key
        var request = ImageRequest(url: URL(string: "app:any")!)
        request.cacheKey = requests[0].url.absoluteString
        await cache.remove(request)
        // Then the other one is left
        #expect(Set(await cache.diskFiles().map(\.key)) == [requests[1].url.absoluteString])
    }

    @Test("Of an image in two sizes and several files, the one that is named is removed, and no other")
    func removal() async throws {
        let request = try await load("a")
        var small = request
        small.decodeSize = .contain(PixelSize(width: 40, height: 40))
        _ = try await fixture.manager.response(for: small)
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.results.usage.count == 2 })
        // When one size is removed from memory
        let entries = cache.memoryEntries()
        #expect(entries.map(\.image.pixelSize.width) == [40, 100] && entries[0].id != entries[1].id)
        cache.removeFromMemory(entries[1])
        // Then the other one stays
        #expect(cache.memoryEntries().map(\.id) == [entries[0].id])
        // When it is stored anew and the old entry is removed, then the new one stays
        cache.removeFromMemory(entries[0])
        _ = try await fixture.manager.response(for: small)
        cache.removeFromMemory(entries[0])
        let renewed = cache.memoryEntries()
        #expect(renewed.count == 1 && renewed[0].id != entries[0].id)
        // When the smaller rendition is removed from the disk
        let files = await cache.diskFiles()
        #expect(files.count == 3 && Set(files.map(\.id)).count == 3)
        let rendition = try #require(files.first { $0.pixelSize?.width == 40 })
        await cache.remove(rendition)
        // Then the original and the larger one stay
        #expect(Set(await cache.diskFiles()) == Set(files).subtracting([rendition]))
        // When the original is removed, then the rendition stays
        let original = try #require(files.first { !$0.isRendition })
        await cache.remove(original)
        #expect(await cache.diskFiles().map(\.pixelSize?.width) == [100])
        #expect(cache.memoryEntries().count == 1)
    }

    @Test("A removed entry is not found again where it was evicted meanwhile and is still in use")
    func removedAfterEviction() throws {
        let cache = MemoryCache(costLimit: 300)
        let key = { (number: Int) in ImageKey(ImageRequest(url: URL(string: "https://example.org/\(number)")!)) }
        let image = { WebImage(pixels: PixelBuffer(size: PixelSize(width: 10, height: 10), format: .rgb) { _ in }!) }
        cache.store(MemoryEntry(image(), for: key(0)))
        let entry = try #require(cache.entries(limit: 1).first)
        cache.store(MemoryEntry(image(), for: key(1)))
        let query = MemoryQuery(key: key(0), size: nil, acceptsLarger: false)
        cache.store(MemoryEntry(image(), for: key(2)))
        #expect(cache.entries(limit: 9).map(\.key) == [key(2)])
        cache.remove(entry)
        #expect(cache.image(for: query) == nil)
        #expect(cache.totalCost == 300 && cache.slotCount <= 2)
    }

    @Test("However many images have expired, a list looks at no more than it may have entries")
    func bounded() {
        let (cache, clock) = (MemoryCache(costLimit: 1 << 20), ManualClock())
        let key = { (number: Int) in ImageKey(ImageRequest(url: URL(string: "https://example.org/\(number)")!)) }
        let image = WebImage(pixels: PixelBuffer(size: PixelSize(width: 10, height: 10), format: .rgb) { _ in }!)
        cache.store(MemoryEntry(image, for: key(0)))
        for number in 1...3 {
            cache.store(MemoryEntry(image, for: key(number), expiry: MemoryExpiry(.seconds(5), clock)))
        }
        clock.advance(by: .seconds(6))
        #expect(cache.entries(limit: 3).isEmpty)
        #expect(cache.entries(limit: 4).map(\.key) == [key(0)])
    }
}
