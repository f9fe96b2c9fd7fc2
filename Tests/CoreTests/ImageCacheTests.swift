import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

@Suite("The image cache of an app")
struct ImageCacheTests {
    private let fixture = ManagerFixture()
    private let picture = TestImage.solid(0x336699, size: PixelSize(width: 400, height: 300))

    private var cache: ImageCache { fixture.manager.cache }

    private func small(_ url: URL) -> ImageRequest {
        ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 100, height: 100)))
    }

    private func loadSmall(_ url: URL) async throws {
        fixture.loader.answer(url, with: picture)
        _ = try await fixture.manager.response(for: small(url))
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.results.usage.count > 0 })
    }

    @Test("An image is located and removed in every tier and in all sizes")
    func locations() async throws {
        let url = fixture.url("a")
        #expect(await cache.tiers(containing: small(url)) == [])
        try await loadSmall(url)
        #expect(await cache.tiers(containing: small(url)) == .all)
        await cache.remove(url, from: .memory)
        #expect(await cache.tiers(containing: small(url)) == .disk)
        await cache.remove(url)
        #expect(await cache.tiers(containing: small(url)) == [])
        #expect(await cache.diskUsage().count == 0)
    }

    @Test("Tiers print their names")
    func tierNames() {
        #expect("\(CacheTiers())" == "none")
        #expect("\(CacheTiers.originals)" == "originals")
        #expect("\([.originals, .memory] as CacheTiers)" == "memory, originals")
        #expect("\(CacheTiers.all)" == "memory, renditions, originals")
    }

    @Test("A load that memory could not answer asks again if an image was stored since", arguments: [false, true])
    func asksAgain(isStored: Bool) async throws {
        let (manager, request) = (fixture.manager, small(fixture.url("a")))
        fixture.loader.answer(request.url, with: picture)
        var prepared = manager.prepare(request)
        #expect(manager.memoryStage.hit(forBinding: &prepared, inAnySize: true).image == nil)
        #expect(manager.memoryStage.hit(forBinding: &prepared, inAnySize: false).image == nil)
        if isStored {
            let pixels = try #require(PixelBuffer(size: PixelSize(width: 100, height: 75), format: .rgb) { _ in })
            cache.store(WebImage(pixels: pixels), for: request, in: .memory)
        }
        let task = ImageTask(binding: request, in: manager.pipeline)
        task.start(prepared, for: LoadHandlers { task.complete($0) })
        #expect(try await task.response.source == (isStored ? .memory : .loader))
        // The load counts once.
        let statistics = cache.memoryStatistics
        #expect(statistics.hitCount == (isStored ? 1 : 0) && statistics.missCount == (isStored ? 0 : 1))
    }

    @Test("A load that bypasses memory neither counts a hit there nor touches the image")
    func bypassesMemory() async throws {
        let request = small(fixture.url("a"))
        fixture.loader.answer(request.url, with: picture)
        _ = try await fixture.manager.response(for: request)
        var reload = request
        reload.cachePolicy = .reload
        #expect(try await fixture.manager.response(for: reload).source == .loader)
        #expect(cache.memoryStatistics.hitCount == 0 && cache.memoryStatistics.missCount == 1)
    }

    @Test("An image is located under the key that a filter makes of its URL")
    func filteredKeys() async throws {
        let fixture = ManagerFixture { $0.cacheKeyFilter = .withoutQuery }
        let (url, other) = (fixture.url("a?signature=1"), fixture.url("a?signature=2"))
        fixture.loader.answer(url, with: picture)
        _ = try await fixture.manager.response(for: small(url))
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.results.usage.count > 0 })
        #expect(await fixture.manager.cache.tiers(containing: small(url)) == .all)
        #expect(await fixture.manager.cache.tiers(containing: small(other)) == .all)
        await fixture.manager.cache.remove(other)
        #expect(await fixture.manager.cache.tiers(containing: small(url)) == [])
    }

    @Test("Each call of the cache means the image that the request processor and the key filter make of a request")
    func processedRequests() async throws {
        // Given a processor that sets the key and the size
        let size = DecodeSize.contain(PixelSize(width: 100, height: 100))
        let fixture = ManagerFixture { dependencies in
            dependencies.requestProcessor = { request in
                var request = request
                request.cacheKey = "photo \(request.url.lastPathComponent)"
                request.decodeSize = size
                return request
            }
        }
        let (cache, url) = (fixture.manager.cache, fixture.url("a"))
        fixture.loader.answer(url, with: picture)
        // When an image was loaded
        _ = try await fixture.manager.image(for: url)
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.results.usage.count > 0 })
        // Then it is found, and removed
        #expect(await cache.tiers(containing: url) == .all)
        #expect(await cache.data(for: url) == picture)
        #expect(cache.path(for: url) == fixture.disk?.path(for: "photo a"))
        await cache.remove(url, from: .memory)
        #expect(await cache.tiers(containing: url) == .disk)
        await cache.remove(url)
        #expect(await cache.tiers(containing: url) == [])
        // And what is stored is what a load finds
        cache.store(picture, for: url)
        #expect(try await fixture.manager.response(for: url).source == .disk)
    }

    @Test("A transformed image that was loaded for no screen is that of a screen with the scale of the file")
    func scaleOfTransformed() async throws {
        let url = fixture.url("a")
        fixture.loader.answer(url, with: picture)
        var request = small(url)
        request.transformer = .rounded(12)
        _ = try await fixture.manager.response(for: request)
        request.displayScale = 1
        #expect(fixture.manager.cachedImage(for: request) != nil)
        request.displayScale = 2
        #expect(fixture.manager.cachedImage(for: request) == nil)
    }

    @Test("Removing one image leaves the others, in memory and on disk")
    func others() async throws {
        try await loadSmall(fixture.url("a"))
        try await loadSmall(fixture.url("b"))
        await cache.remove(fixture.url("a"))
        #expect(await cache.tiers(containing: small(fixture.url("a"))) == [])
        #expect(await cache.tiers(containing: small(fixture.url("b"))) == .all)
    }

    @Test("Bytes and images that the app stores are found without a loader")
    func storing() async throws {
        let url = fixture.url("a")
        cache.store(picture, for: url)
        #expect(await cache.data(for: url) == picture)
        #expect(await cache.data(for: url) == picture)
        #expect(try await fixture.manager.response(for: ImageRequest(url: url)).source == .disk)
        let other = fixture.url("b")
        let image = try #require(fixture.manager.cachedImage(for: ImageRequest(url: url)))
        cache.store(image, for: ImageRequest(url: other), in: .memory)
        #expect(try await fixture.manager.response(for: ImageRequest(url: other)).source == .memory)
        #expect(fixture.loader.requests.isEmpty)
        await cache.remove(other, from: .memory)
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: other)) == nil)
    }

    @Test("An image stored by hand is found although its URL failed before")
    func storingAfterFailure() async throws {
        let url = fixture.url("missing")
        await #expect(throws: ImageError.self) { try await fixture.manager.image(for: url) }
        cache.store(picture, for: url)
        #expect(try await fixture.manager.response(for: ImageRequest(url: url)).source == .disk)
    }

    @Test("The file of an image is at the path that the cache returns, and any program opens it")
    func path() async throws {
        let url = fixture.url("photo.png")
        cache.store(picture, for: url)
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        let path = try #require(cache.path(for: url))
        let name = try #require(cache.fileName(for: url))
        #expect(path.hasSuffix(".png") && path.hasSuffix("/\(name)"))
        #expect(try Data(contentsOf: URL(filePath: path)).starts(with: picture))
    }

    @Test("Emptying the disk removes originals and renditions; expired entries are removed once an hour")
    func emptying() async throws {
        try await loadSmall(fixture.url("a"))
        var usage = await cache.diskUsage()
        #expect(usage.count == 2 && usage.byteCount > 0 && usage.byteCount <= usage.maximumByteCount ?? 0)
        await cache.removeAll(from: .disk)
        usage = await cache.diskUsage()
        #expect(usage.count == 0 && usage.byteCount == 0)
        await cache.removeExpired()
        let maintained = ManagerFixture(maintenanceInterval: .seconds(3600))
        let disk = try #require(maintained.disk)
        let url = maintained.url("a")
        maintained.manager.cache.store(picture, for: url)
        #expect(EventLog<Int>.poll { maintained.isQuiet && maintained.clock.pendingDelays == [60] })
        let long = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
        for pause in [60, 3600] {
            utimensat(AT_FDCWD, disk.filePath(for: url.absoluteString), long, 0)
            maintained.clock.advance(by: .seconds(pause))
            #expect(EventLog<Int>.poll { disk.usage.count == 0 && maintained.clock.pendingDelays == [3600] })
            maintained.manager.cache.store(picture, for: url)
            #expect(EventLog<Int>.poll { maintained.isQuiet })
        }
    }

    @Test("Evicted images are counted; images on screen stay")
    func trimming() async throws {
        let url = fixture.url("a")
        fixture.loader.answer(url, with: picture)
        let shown = try await fixture.manager.image(for: url)
        fixture.manager.trimMemory(for: .critical)
        #expect(cache.memoryStatistics.count == 0)
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: url)) == shown)
    }

    @Test("Read-only directories are searched after a miss and never written")
    func readOnlyDirectories() throws {
        let (folder, bundle) = (TemporaryDirectory(), TemporaryDirectory())
        let limits = DiskLimits(sizeLimit: 1 << 30, readOnlyDirectories: [bundle.path])
        let disk = DiskCache(directory: folder.path, limits: limits, hashes: .standard)
        let key = "http://host/a.png"
        let file = "\(bundle.path)/\(try #require(disk.fileName(for: key)))"
        try FileStore().write([picture], to: file)
        #expect(disk.contains(key))
        #expect(disk.entry(for: key)?.data == picture)
        disk.remove(key)
        disk.removeAll()
        #expect(disk.entry(for: key)?.data == picture)
        // The cache itself is searched first.
        disk.store(CacheEntry(key: key, data: Data([1]), storedAt: .distantPast))
        disk.flush()
        #expect(disk.entry(for: key)?.data == Data([1]))
    }

    @Test("An update of an image in a read-only directory shows at once, and nothing hides it")
    func updatedReadOnlyDirectories() async throws {
        // Given an image in such a directory that is shown as a thumbnail
        let (folder, bundle) = (TemporaryDirectory(), TemporaryDirectory())
        let limits = DiskLimits(sizeLimit: 1 << 30, readOnlyDirectories: [bundle.path])
        let disk = DiskCache(directory: folder.path, limits: limits, hashes: .standard)
        let fixture = ManagerFixture { $0.dataCache = disk }
        let (manager, url) = (fixture.manager, fixture.url("a"))
        let file = "\(bundle.path)/\(try #require(disk.fileName(for: url.absoluteString)))"
        try FileStore().write([picture], to: file)
        let small = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 40, height: 40)))
        #expect(try await manager.image(for: small).naturalSize.width == 400)
        // When data is put beside it, which would take a copy
        let failure = await #expect(throws: ImageError.self) {
            try await manager.cache.setAttachment(Data([7]), for: url)
        }
        #expect(failure?.reason.contains("readOnlyDirectories") == true)
        #expect(await fixture.polled { fixture.isQuiet })
        // Then the next version of the app shows its own image
        try FileStore().write([TestImage.solid(1, size: PixelSize(width: 200, height: 100))], to: file)
        manager.cache.removeAllFromMemory()
        #expect(try await manager.image(for: small).naturalSize.width == 200)
        #expect(disk.usage.count == 0 && fixture.results.usage.count == 0)
        // And data is kept with an image that was stored as well
        try await manager.cache.store(picture, for: url).waitUntilWritten()
        try await manager.cache.setAttachment(Data([7]), for: url)
        #expect(await manager.cache.attachment(for: url) == Data([7]))
    }

    @Test("What is renewed beside an image leaves the date of its file alone")
    func datesOfRenewals() throws {
        let folder = TemporaryDirectory()
        let disk = DiskCache(directory: folder.path, limits: DiskLimits(sizeLimit: 1 << 30), hashes: .standard)
        let entry = CacheEntry(key: "a", data: Data([1]), storedAt: .distantPast)
        func date() -> Double? { FileStore().files(below: folder.path).first?.modified }
        // Given an entry that was stored long ago
        disk.store(entry)
        disk.flush()
        let long = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
        utimensat(AT_FDCWD, disk.filePath(for: "a"), long, 0)
        // When the server confirms it, and data is put beside it
        disk.change(entry) { $0.response.etag = "1" }
        disk.flush()
        #expect(date() == 1000)
        _ = disk.update("a", completion: nil) { $0.attachment = Data([7]) }
        disk.flush()
        // Then it is as old as before, until another version is stored
        #expect(date() == 1000 && disk.entry(for: "a")?.attachment == Data([7]))
        disk.store(entry)
        _ = disk.update("a", completion: nil) { $0.attachment = Data([8]) }
        disk.flush()
        #expect(date() ?? 0 > 1_000_000)
    }

    @Test("An entry expires by its last use, its storage date or its last change")
    func expiry() throws {
        for expiry in [CacheExpiry.lastUse, .stored, .lastChange] {
            let folder = TemporaryDirectory()
            let time = Mutex(Date().timeIntervalSince1970)
            let limits = DiskLimits(sizeLimit: 1 << 30, maximumAge: 100, expiry: expiry)
            let disk = DiskCache(directory: folder.path, limits: limits, hashes: .standard) { time.withLock { $0 } }
            for key in ["used", "unused"] { disk.store(CacheEntry(key: key, data: Data([1]), storedAt: .distantPast)) }
            disk.flush()
            // Given entries that were stored and used long ago, one of them is used now.
            let long = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
            for key in ["used", "unused"] { utimensat(AT_FDCWD, disk.filePath(for: key), long, 0) }
            _ = disk.entry(for: "used")
            disk.removeExpired()
            let left = ["used", "unused"].filter { disk.contains($0) }
            switch expiry {
            case .lastUse: #expect(left == ["used"])
            case .stored: #expect(left == [])
            case .lastChange:
                #expect(left == ["used", "unused"])
                time.withLock { $0 += 101 }
                disk.removeExpired()
                #expect(disk.usage.count == 0)
            }
        }
    }

    @Test("A serializer replaces the stored bytes or prevents storing")
    func serializer() async throws {
        let other = TestImage.solid(0xFF0000, size: PixelSize(width: 10, height: 10))
        for (kept, source) in [(other, LoadSource.disk), (nil, .loader)] {
            let fixture = ManagerFixture(
                serializer: CacheSerializer { image, _, url in
                    image.pixelSize.width == 400 && url.lastPathComponent == "a" ? kept : Data()
                }
            )
            fixture.loader.answer(fixture.url("a"), with: picture)
            _ = try await fixture.manager.image(for: fixture.url("a"))
            fixture.manager.cache.removeAllFromMemory()
            let response = try await fixture.manager.response(for: ImageRequest(url: fixture.url("a")))
            #expect(response.source == source)
            #expect(response.image.pixelSize.width == (kept == nil ? 400 : 10))
        }
    }
}
