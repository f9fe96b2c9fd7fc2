import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("The configuration of a manager")
struct ConfigurationTests {
    private let folder = TemporaryDirectory()
    private let clock = ManualClock()
    private let loader = FakeLoader()
    private let image = TestImage.solid(0xFF0000, size: PixelSize(width: 8, height: 8))

    private func manager(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: folder.path + "/cache")
        configuration.loaders = [loader]
        configuration.clock = clock
        configuration.retryPolicy = .never
        change(&configuration)
        return ImageManager(configuration: configuration)
    }

    private func url(_ name: String) throws -> URL { try #require(URL(string: "http://host/\(name)")) }

    /// Loads an image past the memory cache, and returns where it came from.
    private func source(_ manager: ImageManager, _ name: String) async throws -> LoadSource {
        try await source(manager, url: url(name))
    }

    private func source(_ manager: ImageManager, url: URL) async throws -> LoadSource {
        manager.cache.removeAllFromMemory()
        var request = ImageRequest(url: url, cachePolicy: .cachedElseLoad)
        request.cacheAccess.awaitsWrites = true
        return try await manager.response(for: request).source
    }

    @Test("An app that is offline asks no server, not even one of this machine", arguments: [false, true])
    func offlineByApp(hasProxy: Bool) async throws {
        let image = image
        let server = try LocalImageServer { _ in .ok(image, contentType: "image/png") }
        let address = "http://127.0.0.1:\(server.port)"
        let manager = manager {
            $0.loaders = []
            $0.downloader = ImageDownloader { if hasProxy { $0.proxy = .fixed(server.url("/")) } }
        }
        manager.isOffline = true
        let url = try #require(URL(string: hasProxy ? "http://images.example.org/a.png" : "\(address)/a.png"))
        let error = await thrownError { try await manager.image(for: url) }
        #expect(error?.code == .offline && server.requests.isEmpty)
        manager.isOffline = false
        _ = try await manager.image(for: url)
        manager.isOffline = true
        #expect(try await source(manager, url: url) == .disk)
    }

    @Test("Memory keeps as many images as the limit says")
    func countLimit() async throws {
        let manager = manager { $0.maximumMemoryCacheCount = 2 }
        for name in ["a", "b", "c"] {
            loader.answer(try url(name), with: image)
            _ = try await manager.image(for: try url(name))
        }
        #expect(manager.cache.memoryStatistics.count == 2)
        #expect(manager.cachedImage(for: try url("a")) == nil)
    }

    @Test(
        "The age at which an image goes counts from its last use or from its storing",
        arguments: [CacheExpiry.lastUse, .stored]
    )
    func age(expiry: CacheExpiry) async throws {
        let manager = manager {
            $0.diskCache?.maximumAge = .seconds(86_400)
            $0.diskCache?.expiry = expiry
        }
        for name in ["used", "unused"] {
            loader.answer(try url(name), with: image)
            #expect(try await source(manager, name) == .loader)
            // The files are two days old.
            let path = try #require(manager.cache.path(for: try url(name)))
            let old = timespec(tv_sec: time(nil) - 172_800, tv_nsec: 0)
            #expect(utimensat(AT_FDCWD, path, [old, old], 0) == 0)
        }
        #expect(try await source(manager, "used") == .disk)
        await manager.cache.removeExpired()
        #expect(try await source(manager, "used") == (expiry == .lastUse ? .disk : .loader))
        #expect(try await source(manager, "unused") == .loader)
    }

    @Test("Directories of the app are searched after a miss, and never written to")
    func readOnlyDirectories() async throws {
        let bundled = folder.path + "/bundled"
        let manager = manager { $0.diskCache?.readOnlyDirectories = [folder.path + "/missing", bundled] }
        let name = try #require(manager.cache.fileName(for: try url("bundled")))
        let file = URL(filePath: "\(bundled)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try image.write(to: file)
        loader.answer(try url("other"), with: image)
        #expect(try await source(manager, "bundled") == .disk)
        #expect(try await source(manager, "other") == .loader)
        #expect(loader.started == [try url("other")])
        #expect(try FileManager.default.contentsOfDirectory(atPath: bundled).count == 1)
    }

    @Test("A failure is remembered for as long as the configuration says, or not at all")
    func failures() async throws {
        let manager = manager { $0.failureCacheDuration = .seconds(10) }
        func fail(_ manager: ImageManager) async throws {
            await #expect(throws: ImageError.self) { try await manager.image(for: try url("missing")) }
        }
        for expected in [1, 1, 2] {
            try await fail(manager)
            #expect(loader.started.count == expected)
            clock.advance(by: .seconds(6))
        }
        let forgetful = self.manager { $0.failureCacheDuration = .zero }
        for expected in [3, 4] {
            try await fail(forgetful)
            #expect(loader.started.count == expected)
        }
    }
}
