import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

@Suite("Lifetimes that an app chooses")
struct LifetimeTests {
    private let fixture = ManagerFixture()
    private let file = TestImage.solid(0x336699, size: PixelSize(width: 400, height: 300))

    private var url: URL { fixture.url("a") }

    private func request(_ lifetime: CacheLifetime, size: DecodeSize = .original) -> ImageRequest {
        var request = ImageRequest(url: url, decodeSize: size)
        request.cacheLifetime = lifetime
        return request
    }

    private func answer(_ cacheControl: String?, isNotModified: Bool = false) {
        var metadata = ResponseMetadata()
        (metadata.etag, metadata.cacheControl) = ("\"1\"", cacheControl)
        metadata.responseTime = fixture.clock.now
        let result = LoaderResult(
            data: isNotModified ? Data() : file,
            metadata: metadata,
            isNotModified: isNotModified
        )
        fixture.loader.answer(url, with: .success(result))
    }

    /// Where a load that finds nothing in memory gets the image.
    private func source(_ request: ImageRequest) async throws -> LoadSource {
        fixture.manager.cache.removeAllFromMemory()
        let source = try await fixture.manager.response(for: request).source
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        return source
    }

    @Test("An image in memory serves for its lifetime, that of the request before that of the configuration")
    func memory() async throws {
        let fixture = ManagerFixture { $0.memoryLifetime = .seconds(100) }
        let (manager, url) = (fixture.manager, fixture.url("a"))
        fixture.loader.answer(url, with: file)
        for (lifetime, seconds) in [(nil, 100), (Duration.seconds(10), 10), (.seconds(1000), 1000)] {
            var request = ImageRequest(url: url)
            request.cacheLifetime.memory = lifetime
            manager.cache.removeAllFromMemory()
            _ = try await manager.image(for: request)
            fixture.clock.advance(by: .seconds(seconds - 1))
            #expect(manager.cachedImage(for: url) != nil)
            fixture.clock.advance(by: .seconds(1))
            #expect(manager.cachedImage(for: url) == nil)
            #expect(manager.cache.memoryStatistics.count == 0)
            #expect(try await manager.response(for: request).source == .disk)
        }
        // What the app stores has one, too.
        let image = try await manager.image(for: url)
        manager.cache.store(image, for: fixture.url("own"), in: .memory)
        fixture.clock.advance(by: .seconds(101))
        #expect(manager.cachedImage(for: fixture.url("own")) == nil)
    }

    @Test("An image that has expired leaves the memory, even while something shows it and nobody asks for it")
    func memoryIsFreed() async throws {
        fixture.loader.answer(url, with: file)
        var image: WebImage? = try await fixture.manager.image(for: request(CacheLifetime(memory: .seconds(10))))
        fixture.clock.advance(by: .seconds(10))
        #expect(fixture.memory.totalCost > 0)
        await fixture.manager.cache.removeExpired()
        #expect(fixture.memory.totalCost == 0)
        #expect(fixture.manager.cachedImage(for: url) == nil && image != nil)
        image = nil
    }

    @Test("An image of the app's own, whose lifetime is over, serves without a loader where old images do")
    func ownScheme() async throws {
        let fixture = ManagerFixture { $0.loaders = LoaderRegistry([]) }
        let (manager, own) = (fixture.manager, try #require(URL(string: "app:portrait")))
        var request = ImageRequest(url: own)
        request.cacheLifetime.disk = .seconds(100)
        try await manager.cache.store(file, for: request).waitUntilWritten()
        manager.cache.removeAllFromMemory()
        fixture.clock.advance(by: .seconds(101))
        do throws(ImageError) {
            _ = try await manager.image(for: own)
            Issue.record("The image has expired")
        } catch {
            #expect(error.reason.contains("expired") && error.remedy.contains("cachedElseLoad"), "\(error)")
        }
        for policy in [ImageRequest.CachePolicy.cachedOnly, .cachedElseLoad] {
            manager.cache.removeAllFromMemory()
            #expect(try await manager.response(for: ImageRequest(url: own, cachePolicy: policy)).source == .disk)
        }
    }

    @Test("A clock that jumps ahead, or back by more than the lifetime, ends it; no image stays for ever")
    func memoryClock() async throws {
        fixture.loader.answer(url, with: file)
        for jump in [3600, -3600, 60 * 86_400, -60 * 86_400] {
            _ = try await fixture.manager.image(for: request(CacheLifetime(memory: .seconds(600))))
            fixture.clock.advance(by: .seconds(jump))
            #expect(fixture.manager.cachedImage(for: url) == nil, "a jump by \(jump) s")
        }
        _ = try await fixture.manager.image(for: request(CacheLifetime(memory: .seconds(600))))
        fixture.clock.advance(by: .seconds(-5))
        #expect(fixture.manager.cachedImage(for: url) != nil)
    }

    @Test(
        "On disk an image is fresh for its lifetime whatever the server says, then it is validated and is fresh again",
        arguments: ["no-cache", "max-age=1", "max-age=1000000", nil] as [String?]
    )
    func disk(cacheControl: String?) async throws {
        answer(cacheControl)
        let request = request(CacheLifetime(disk: .seconds(600)))
        #expect(try await source(request) == .loader)
        for _ in 0..<2 {
            fixture.clock.advance(by: .seconds(599))
            #expect(try await source(request) == .disk)
            // A request without a lifetime takes that of the entry.
            #expect(try await source(ImageRequest(url: url)) == .disk)
            fixture.clock.advance(by: .seconds(2))
            answer(cacheControl, isNotModified: true)
            let count = fixture.loader.requests.count
            #expect(try await source(ImageRequest(url: url)) == .revalidated)
            #expect(fixture.loader.requests.count == count + 1)
            #expect(fixture.loader.requests.last?.validators?.etag == "\"1\"")
        }
    }

    @Test("A lifetime counts for what was stored without one, from when it was stored")
    func later() async throws {
        // A loader that says nothing of times
        fixture.loader.answer(url, with: file)
        #expect(try await source(ImageRequest(url: url)) == .loader)
        fixture.clock.advance(by: .seconds(61))
        #expect(try await source(request(CacheLifetime(disk: .seconds(62)))) == .disk)
        #expect(try await source(request(CacheLifetime(disk: .seconds(60)))) == .loader)
        // What the app stores has the lifetime of its request.
        fixture.manager.cache.store(file, for: request(CacheLifetime(disk: .seconds(60))))
        fixture.clock.advance(by: .seconds(59))
        #expect(try await source(ImageRequest(url: url)) == .disk)
        fixture.clock.advance(by: .seconds(2))
        #expect(try await source(ImageRequest(url: url)) == .loader)
    }

    @Test("Renditions and images in memory follow the lifetime of the original")
    func otherTiers() async throws {
        answer("no-cache")
        let request = request(CacheLifetime(disk: .seconds(600)), size: .contain(PixelSize(width: 40, height: 40)))
        #expect(try await source(request) == .loader)
        #expect(fixture.results.usage.count == 1)
        let decodes = fixture.decodes.count
        fixture.clock.advance(by: .seconds(599))
        #expect(try await source(request) == .disk)
        #expect(fixture.decodes.count == decodes)
        #expect(try await fixture.manager.response(for: request).source == .memory)
        fixture.clock.advance(by: .seconds(2))
        answer("no-cache", isNotModified: true)
        #expect(try await fixture.manager.response(for: request).source == .revalidated)
    }

    @Test("A stale image serves while the server cannot be reached, and `no-store` is not stored")
    func exceptions() async throws {
        answer("max-age=1")
        let request = request(CacheLifetime(disk: .seconds(60)))
        #expect(try await source(request) == .loader)
        fixture.clock.advance(by: .seconds(61))
        let error = ImageError(.connectionFailed, url: url, reason: "r", remedy: "r")
        fixture.loader.answer(url, with: .failure(error))
        fixture.manager.cache.removeAllFromMemory()
        #expect(try await fixture.manager.response(for: request).refreshError?.code == .connectionFailed)
        answer("no-store")
        _ = try await fixture.manager.image(for: request)
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        #expect(await fixture.manager.cache.data(for: url) == nil)
    }

    @Test("A clock that is set back by more than the lifetime makes the image stale")
    func diskClock() async throws {
        answer(nil)
        let request = request(CacheLifetime(disk: .seconds(600)))
        #expect(try await source(request) == .loader)
        fixture.clock.advance(by: .seconds(-700))
        answer(nil, isNotModified: true)
        #expect(try await source(request) == .revalidated)
    }

    @Test(
        "The disk keeps an entry for its lifetime beyond the maximum age, and no longer, but never beyond the size limit"
    )
    func keeping() throws {
        let folder = TemporaryDirectory()
        let time = Mutex(Date().timeIntervalSince1970)
        let limits = DiskLimits(sizeLimit: 1 << 20, maximumAge: 100, expiry: .stored)
        let disk = DiskCache(directory: folder.path, limits: limits, hashes: .standard) { time.withLock { $0 } }
        for (key, lifetime) in [("plain", nil), ("short", 10), ("long", 1000), ("lying", 1e300)] as [(String, Double?)]
        {
            var entry = CacheEntry(key: key, data: Data([1]), storedAt: .distantPast)
            entry.response.responseTime = Date(timeIntervalSince1970: time.withLock { $0 })
            entry.response.ownLifetime = lifetime
            disk.store(entry)
        }
        // An entry from the future, which a clock that was wrong has left
        var future = CacheEntry(key: "future", data: Data([1]), storedAt: .distantPast)
        future.response.responseTime = Date(timeIntervalSince1970: time.withLock { $0 } + 86_400)
        future.response.ownLifetime = 1000
        disk.store(future)
        disk.flush()
        time.withLock { $0 += 101 }
        disk.removeExpired()
        #expect(["plain", "short", "long", "lying", "future"].filter { disk.contains($0) } == ["long", "lying"])
        time.withLock { $0 += 1000 }
        disk.removeExpired()
        #expect(["long", "lying"].filter { disk.contains($0) } == ["lying"])
        for number in 0..<40 {
            disk.store(CacheEntry(key: "\(number)", data: Data(count: 40_000), storedAt: .distantPast))
        }
        disk.flush()
        #expect(disk.usage.byteCount <= 1 << 20)
    }

    @Test("Requests with other lifetimes are one load")
    func sharing() async throws {
        let fixture = ManagerFixture(holdsResponses: true)
        let url = fixture.url("a")
        fixture.loader.answer(url, with: file)
        for seconds in [10, 20, 30] {
            var request = ImageRequest(url: url)
            request.cacheLifetime = CacheLifetime(memory: .seconds(seconds), disk: .seconds(seconds))
            fixture.load(request) { fixture.outcomes.add(ManagerFixture.Outcome($0)) }
        }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.finish(url)
        fixture.outcomes.wait { $0.count == 3 }
        #expect(fixture.loader.requests.count == 1)
    }
}
