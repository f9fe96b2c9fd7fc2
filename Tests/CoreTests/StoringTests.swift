import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Images that an app stores")
struct StoringTests {
    private let fixture = Self.fixture()
    private let file = TestImage.quarters(size: PixelSize(width: 40, height: 30))

    private var cache: ImageCache { fixture.manager.cache }
    private var url: URL { fixture.url("a") }

    /// A fixture that encodes, too.
    private static func fixture(
        hasDisk: Bool = true,
        store: any FileStoring = FileStore(),
        encoder: (any ImageEncoding)? = nil,
        change: (inout Pipeline.Dependencies) -> Void = { _ in }
    ) -> ManagerFixture {
        ManagerFixture(hasDisk: hasDisk, originalStore: store) { dependencies in
            dependencies.coders = .builtIn(adding: [], encoders: encoder.map { [$0] } ?? [])
            change(&dependencies)
        }
    }

    private func image(_ data: Data) throws -> WebImage { try CoderRegistry.builtIn.decode(data) }

    /// An image that no file was decoded to.
    private func drawn(hasAlpha: Bool = false, width: Int = 40) throws -> WebImage {
        let size = PixelSize(width: width, height: 30)
        let format = hasAlpha ? PixelBuffer.Format.rgbaPremultiplied : .rgb
        return WebImage(
            pixels: try #require(
                PixelBuffer(size: size, format: format) { $0.initializeMemory(as: UInt8.self, repeating: 90) }
            )
        )
    }

    /// Why an image was not stored.
    private func failure(_ write: CacheWrite) async -> ImageError? {
        do throws(ImageError) {
            try await write.waitUntilWritten()
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "The key of a request is that of the prepared one: processor, filter and low-data URL count, the size does not"
    )
    func keys() {
        let plain = fixture.manager
        #expect(plain.cacheKey(for: url) == "http://host/a")
        var request = ImageRequest(
            url: url,
            decodeSize: .contain(PixelSize(width: 9, height: 9)),
            transformer: .circle()
        )
        #expect(plain.cacheKey(for: request) == "http://host/a")
        request.cacheKey = "avatar"
        #expect(plain.cacheKey(for: request) == "avatar")
        let other = Self.fixture { dependencies in
            dependencies.cacheKeyFilter = .withoutQuery
            dependencies.requestProcessor = { request in
                var request = request
                if request.url.lastPathComponent == "b" { request.cacheKey = "processed" }
                request.lowDataURL = URL(string: "http://host/small?d=1")
                return request
            }
        }
        #expect(other.manager.cacheKey(for: other.url("a?c=1")) == "http://host/a")
        #expect(other.manager.cacheKey(for: other.url("b")) == "processed")
        other.network.status = ImageNetworkStatus(isMetered: true)
        #expect(other.manager.cacheKey(for: other.url("a?c=1")) == "http://host/small")
    }

    @Test("A stored image is in memory at once, and on disk as a file that a load decodes to the same pixels")
    func bothTiers() async throws {
        let image = try image(file)
        let write = cache.store(image, for: url)
        #expect(fixture.manager.cachedImage(for: url) == image)
        try await write.waitUntilWritten()
        #expect(fixture.manager.cachedImage(for: url) == image)
        cache.removeAllFromMemory()
        let response = try await fixture.manager.response(for: url)
        #expect(response.source == .disk && fixture.loader.requests.isEmpty)
        #expect(response.image.pixels.withUnsafeBytes { Data($0) } == image.pixels.withUnsafeBytes { Data($0) })
        // Another process finds it in its file.
        let directory = try #require(fixture.disk?.directory)
        let other = DiskCache(directory: directory, limits: DiskLimits(sizeLimit: 1 << 30), hashes: .standard)
        #expect(other.entry(for: url.absoluteString) != nil)
    }

    @Test("One call stores in the tiers that it names, and nothing else")
    func chosenTiers() async throws {
        let image = try image(file)
        try await cache.store(image, for: url, in: .memory).waitUntilWritten()
        #expect(await cache.tiers(containing: url) == .memory)
        try await cache.store(image, for: fixture.url("b"), in: .originals).waitUntilWritten()
        #expect(await cache.tiers(containing: fixture.url("b")) == .originals)
    }

    @Test("The file is a JPEG for a photograph, a PNG for what was drawn or has alpha, or what the app asks for")
    func formats() async throws {
        let photograph = try image(TestImage.quarters(size: PixelSize(width: 64, height: 64), format: .jpeg))
        let cases: [(WebImage, ImageFormat?, ImageFormat)] = [
            (photograph, nil, .jpeg), (try image(file), nil, .png), (try drawn(), nil, .png),
            (try drawn(hasAlpha: true), nil, .png), (photograph, .png, .png), (try drawn(), .webp, .webp),
        ]
        for (number, (image, format, expected)) in cases.enumerated() {
            let url = fixture.url("\(number)")
            try await cache.store(image, for: url, as: format).waitUntilWritten()
            let data = try #require(await cache.data(for: url))
            #expect(ImageFormat(sniffing: data) == expected, "case \(number)")
        }
    }

    @Test("An animation is stored with all of its frames and their pixels")
    func animations() async throws {
        let animation = try image(
            TestImage.animation([0xFF0000, 0x00FF00, 0x0000FF], size: PixelSize(width: 8, height: 8))
        )
        try await cache.store(animation, for: url).waitUntilWritten()
        cache.removeAllFromMemory()
        let loaded = try await fixture.manager.image(for: url)
        #expect(loaded.frameCount == 3)
        for index in 0..<3 {
            let before = try #require(try animation.animation?.makeDecoder().frame(at: index))
            let after = try #require(try loaded.animation?.makeDecoder().frame(at: index))
            #expect(after.withUnsafeBytes { Data($0.prefix(3)) } == before.withUnsafeBytes { Data($0.prefix(3)) })
        }
        var options = EncodeOptions()
        options.isFirstFrameOnly = true
        try await cache.store(animation, for: url, options: options).waitUntilWritten()
        let data = try #require(await cache.data(for: url))
        #expect(ImageFormat(sniffing: data) == .png)
    }

    @Test("Encoding holds nobody up: it runs on another thread, and the call returns before")
    func encodingInBackground() async throws {
        let encoder = HeldEncoder()
        let fixture = Self.fixture(encoder: encoder)
        encoder.gate.close()
        let write = fixture.manager.cache.store(try drawn(), for: fixture.url("a"))
        #expect(fixture.manager.cachedImage(for: fixture.url("a")) != nil)
        #expect(EventLog<Int>.poll { encoder.log.all == ["on another thread"] })
        encoder.gate.open()
        try await write.waitUntilWritten()
        #expect(await fixture.manager.cache.data(for: fixture.url("a")) != nil)
    }

    @Test("What was stored or removed last counts, however long the image before takes to encode")
    func order() async throws {
        let encoder = HeldEncoder()
        let fixture = Self.fixture(encoder: encoder)
        let (cache, url) = (fixture.manager.cache, fixture.url("a"))
        encoder.gate.close()
        // Given images that are being encoded when bytes are stored, and when the image is removed
        let first = cache.store(try drawn(), for: url)
        let second = cache.store(try drawn(width: 20), for: url)
        let bytes = cache.store(file, for: url)
        let other = cache.store(try drawn(), for: fixture.url("b"))
        await cache.remove(fixture.url("b"))
        encoder.gate.open()
        // Then they do not come back
        #expect(await failure(first)?.code == .notStored)
        #expect(await failure(second)?.code == .notStored)
        #expect(await failure(other)?.code == .notStored)
        #expect(await failure(bytes) == nil)
        #expect(await cache.data(for: url) == file)
        #expect(await cache.tiers(containing: fixture.url("b")) == [])
        // And of two images the one that was stored last stays
        encoder.gate.close()
        let writes = [try drawn(width: 50), try drawn(width: 60)].map { cache.store($0, for: url) }
        encoder.gate.open()
        #expect(await failure(writes[1]) == nil)
        cache.removeAllFromMemory()
        #expect(try await fixture.manager.image(for: url).pixelSize.width == 60)
    }

    @Test("A cache of the app's own may store further images while it stores one")
    func nestedStores() async throws {
        let own = OwnCache()
        let fixture = Self.fixture { $0.dataCache = own }
        let (cache, file, other) = (fixture.manager.cache, file, fixture.url("b"))
        own.whenStoring { if $0 == fixture.url("a").absoluteString { cache.store(file, for: other) } }
        try await cache.store(try drawn(), for: fixture.url("a")).waitUntilWritten()
        #expect(own.entry(for: other.absoluteString)?.data == file)
        own.whenStoring { _ in }
    }

    @Test("A cache of the app's own that takes its time holds up nobody, and what was stored or removed last counts")
    func slowOwnCache() async throws {
        let (own, gate, held) = (OwnCache(), Gate(), EventLog<String>())
        let fixture = Self.fixture { $0.dataCache = own }
        let (cache, file) = (fixture.manager.cache, file)
        for ending in ["bytes", "removed", "all removed"] {
            // Given an image whose encoded file is about to be stored
            let url = fixture.url(ending)
            gate.close()
            let isFirst = Mutex(true)
            own.whenStoring { key in
                guard key == url.absoluteString, isFirst.withLock({ exchange(&$0, with: false) }) else { return }
                held.add(key)
                gate.wait()
            }
            let slow = cache.store(try drawn(), for: url)
            #expect(await eventually { held.all.last == url.absoluteString })
            // When the app does something else with the image
            let done = EventLog<Bool>()
            Task.detached {
                switch ending {
                case "bytes": cache.store(file, for: url)
                case "removed": await cache.remove(url)
                default: await cache.removeAll(from: .disk)
                }
                done.add(true)
            }
            // Then that does not wait
            #expect(await eventually { !done.all.isEmpty }, "\(ending)")
            gate.open()
            _ = await failure(slow)
            // And is not undone.
            #expect(await eventually { own.entry(for: url.absoluteString)?.data == (ending == "bytes" ? file : nil) })
        }
        own.whenStoring { _ in }
    }

    @Test("Bytes and their image are stored together; bytes alone remove what memory has of the URL")
    func bytesAndImage() async throws {
        let image = try image(file)
        try await cache.store(file, for: url, showing: image).waitUntilWritten()
        #expect(fixture.manager.cachedImage(for: url) == image)
        #expect(await cache.data(for: url) == file)
        cache.store(file, for: url)
        #expect(fixture.manager.cachedImage(for: url) == nil)
        #expect(try await fixture.manager.response(for: url).source == .disk)
    }

    @Test("Renditions and failures of an earlier version are gone")
    func earlierVersions() async throws {
        let small = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 10, height: 10)))
        fixture.loader.answer(url, with: TestImage.solid(0x00FF00, size: PixelSize(width: 400, height: 300)))
        _ = try await fixture.manager.image(for: small)
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.results.usage.count == 1 })
        try await cache.store(try drawn(), for: url).waitUntilWritten()
        cache.removeAllFromMemory()
        let response = try await fixture.manager.response(for: small)
        #expect(response.source == .disk && response.image.naturalSize.width == 40)
        #expect(EventLog<Int>.poll { fixture.isQuiet })
    }

    @Test(
        "A disk that is full or read-only, or fails, says so, and memory has the image all the same",
        arguments: [ENOSPC, EROFS, EACCES, EIO, EDQUOT]
    )
    func faults(number: Int32) async throws {
        let store = FaultyStore { call, _ in call == "write" ? .fails(number) : nil }
        let fixture = Self.fixture(store: store)
        for round in 0..<2 {
            let url = fixture.url("\(round)")
            let error = await failure(fixture.manager.cache.store(try drawn(), for: url))
            #expect(error?.code == .notStored && error?.url == url)
            #expect(error?.reason.contains(String(cString: strerror(number))) == true, "\(String(describing: error))")
            #expect(fixture.manager.cachedImage(for: url) != nil)
        }
    }

    @Test("What cannot be on disk is refused with its reason")
    func refusals() async throws {
        let none = Self.fixture(hasDisk: false)
        #expect(
            await failure(none.manager.cache.store(try drawn(), for: url))?.reason.contains("no disk cache") == true
        )
        #expect(await failure(none.manager.cache.store(try drawn(), for: url, in: .memory)) == nil)
        // A quarter of the limit of the fixture
        let large = Data(count: 25_000_001)
        #expect(await failure(cache.store(large, for: url))?.reason.contains("24 MiB") == true)
        let partial = WebImage(pixels: try drawn().pixels, isPartial: true)
        #expect(await failure(cache.store(partial, for: url))?.code == .notStored)
        #expect(fixture.manager.cachedImage(for: url) == nil)
        #expect(await failure(cache.store(try drawn(), for: url, as: .tiff))?.code == .encodingFailed)
        let local = Self.fixture { $0.loaders = ImageManager.testing(FakeLoader()) { $0.loaders = [] }.loaders }
        let folder = URL(filePath: "/tmp/a.png")
        #expect(await failure(local.manager.cache.store(try drawn(), for: folder))?.code == .notStored)
        let forgetful = Self.fixture { $0.dataCache = ForgetfulCache() }
        #expect(await failure(forgetful.manager.cache.store(file, for: url))?.reason.contains("data cache") == true)
    }

    @Test("Whoever stops waiting does not stop the writing, and all who wait learn of its end")
    func cancelledWaits() async throws {
        let gate = Gate()
        gate.close()
        let fixture = Self.fixture(store: FaultyStore { call, _ in call == "write" ? .waits { gate.wait() } : nil })
        let write = fixture.manager.cache.store(file, for: url)
        let cancelled = Task { await failure(write)?.code }
        let before = Task { await failure(write)?.code }
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure(write)?.code
        }
        #expect(await early.value == .cancelled)
        gate.open()
        #expect(await before.value == nil)
        #expect(await failure(write) == nil)
        #expect(await fixture.manager.cache.data(for: url) == file)
    }

    @Test("Everybody who stores the same image at once learns of its end, and the image is one of theirs")
    func concurrency() async throws {
        let cache = cache
        let url = url
        let images = try (1...20).map { try drawn(width: $0) }
        await withTaskGroup(of: Void.self) { group in
            for image in images {
                group.addTask { _ = try? await cache.store(image, for: url).waitUntilWritten() }
                group.addTask { await cache.remove(url, from: .memory) }
            }
        }
        cache.removeAllFromMemory()
        #expect((1...20).contains(try await fixture.manager.image(for: url).pixelSize.width))
    }
}

/// An encoder whose work waits until a gate is open.
private final class HeldEncoder: ImageEncoding {
    let gate = Gate()
    let log = EventLog<String>()
    private let caller = pthread_self()

    func canEncode(_ format: ImageFormat) -> Bool { format == .png }

    func encode(_ pixels: PixelBuffer, as format: ImageFormat, options: EncodeOptions) throws(ImageError) -> Data {
        log.add(pthread_equal(pthread_self(), caller) == 0 ? "on another thread" : "on the thread of the caller")
        gate.wait()
        guard let encoder = CoderRegistry.builtIn.encoder(for: format) else { return Data() }
        return try encoder.encode(pixels, as: format, options: options)
    }
}

/// A cache that keeps nothing.
private struct ForgetfulCache: DataCaching {
    func entry(for key: String) -> CacheEntry? { nil }
    func store(_ entry: CacheEntry) {}
    func remove(_ key: String) {}
    func removeAll() {}
    var usage: CacheUsage { CacheUsage() }
}

/// A cache of an app that keeps entries in memory, with dates in seconds, as of files.
private final class OwnCache: DataCaching {
    private let entries = Mutex<[String: CacheEntry]>([:])
    private let onStore = Mutex<(@Sendable (String) -> Void)?>(nil)

    /// Calls a closure with the key of each entry before it is stored.
    func whenStoring(_ body: @escaping @Sendable (String) -> Void) { onStore.withLock { $0 = body } }

    func entry(for key: String) -> CacheEntry? { entries.withLock { $0[key] } }
    func store(_ entry: CacheEntry) {
        onStore.withLock { $0 }?(entry.key)
        var entry = entry
        entry.storedAt -= 0.4
        entries.withLock { $0[entry.key] = entry }
    }
    func remove(_ key: String) { entries.withLock { $0[key] = nil } }
    func removeAll() { entries.withLock { $0 = [:] } }
    var usage: CacheUsage { CacheUsage() }
}
