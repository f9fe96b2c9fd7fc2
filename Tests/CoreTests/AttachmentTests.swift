import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Data of an app beside an image on disk")
struct AttachmentTests {
    private let fixture = ManagerFixture()
    private let file = TestImage.solid(0x336699, size: PixelSize(width: 40, height: 30))
    private let note = Data("by Ada".utf8)

    private var cache: ImageCache { fixture.manager.cache }
    private var url: URL { fixture.url("a") }

    private func answer(etag: String, isNotModified: Bool = false) {
        var metadata = ResponseMetadata()
        (metadata.etag, metadata.cacheControl, metadata.responseTime) = (etag, "max-age=60", fixture.clock.now)
        let data = isNotModified ? Data() : file
        let result = LoaderResult(data: data, metadata: metadata, isNotModified: isNotModified)
        fixture.loader.answer(url, with: .success(result))
    }

    private func failure(_ data: Data?, _ cache: ImageCache, _ url: URL) async -> ImageError? {
        do throws(ImageError) {
            try await cache.setAttachment(data, for: url)
            return nil
        } catch {
            return error
        }
    }

    @Test("It is written and read by request, also by another process, and removed with nil or with the image")
    func roundTrip() async throws {
        cache.store(file, for: url)
        #expect(await cache.attachment(for: url) == nil)
        try await cache.setAttachment(note, for: url)
        #expect(await cache.attachment(for: url) == note)
        let directory = try #require(fixture.disk?.directory)
        let other = DiskCache(directory: directory, limits: DiskLimits(sizeLimit: 1 << 30), hashes: .standard)
        #expect(other.entry(for: url.absoluteString)?.attachment == note)
        #expect(other.entry(for: url.absoluteString)?.data == file)
        try await cache.setAttachment(nil, for: url)
        #expect(await cache.attachment(for: url) == nil)
        try await cache.setAttachment(note, for: url)
        await cache.remove(url)
        #expect(await cache.attachment(for: url) == nil)
        #expect(await failure(note, cache, url)?.code == .notStored)
    }

    @Test("It stays when the server confirms the image, and goes when there is another version")
    func revalidation() async throws {
        answer(etag: "\"1\"")
        _ = try await fixture.manager.image(for: url)
        try await cache.setAttachment(note, for: url)
        fixture.clock.advance(by: .seconds(61))
        answer(etag: "\"1\"", isNotModified: true)
        cache.removeAllFromMemory()
        #expect(try await fixture.manager.response(for: url).source == .revalidated)
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        #expect(await cache.attachment(for: url) == note)
        fixture.clock.advance(by: .seconds(61))
        answer(etag: "\"2\"")
        cache.removeAllFromMemory()
        #expect(try await fixture.manager.response(for: url).source == .loader)
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        #expect(await cache.attachment(for: url) == nil)
    }

    @Test("A 304 that was asked for before the data came does not take it away")
    func lateConfirmation() async throws {
        let disk = try #require(fixture.disk)
        cache.store(file, for: url)
        let before = try #require(disk.entry(for: url.absoluteString))
        try await cache.setAttachment(note, for: url)
        for isWritten in [true, false] {
            if !isWritten { _ = disk.update(url.absoluteString, completion: nil) { $0.attachment = Data([7]) } }
            disk.change(before) { $0.response.etag = "new" }
            let entry = try #require(disk.entry(for: url.absoluteString))
            #expect(entry.attachment == (isWritten ? note : Data([7])) && entry.response.etag == "new")
            disk.flush()
        }
    }

    @Test("Renditions of the image stay valid")
    func renditions() async throws {
        fixture.loader.answer(url, with: TestImage.solid(0x336699, size: PixelSize(width: 400, height: 300)))
        let small = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 40, height: 30)))
        _ = try await fixture.manager.image(for: small)
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.results.usage.count == 1 })
        try await cache.setAttachment(note, for: small)
        cache.removeAllFromMemory()
        let decodes = fixture.decodes.count
        #expect(try await fixture.manager.response(for: small).source == .disk)
        #expect(fixture.decodes.count == decodes)
    }

    @Test("Up to 64 KiB are kept, more is refused, and without an original or a disk there is nothing to put it beside")
    func limits() async throws {
        #expect(await failure(note, cache, url)?.code == .notStored)
        cache.store(file, for: url)
        let largest = Data((0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try await cache.setAttachment(largest, for: url)
        #expect(await cache.attachment(for: url) == largest)
        #expect(await cache.data(for: url) == file)
        for (count, reason) in [(65_537, "65537 bytes, more than 65536 bytes"), (100_000_000, "more than 64 KiB")] {
            let error = await failure(Data(count: count), cache, url)
            #expect(error?.code == .notStored && error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
        }
        #expect(await cache.attachment(for: url) == largest)
        let none = ManagerFixture(hasDisk: false)
        #expect(await failure(note, none.manager.cache, url)?.code == .notStored)
        #expect(await none.manager.cache.attachment(for: url) == nil)
    }

    @Test("A disk that cannot be written says so, and the image stays")
    func fullDisk() async throws {
        let isFull = EventLog<Int>()
        let store = FaultyStore { call, _ in call == "write" && !isFull.all.isEmpty ? .fails(EROFS) : nil }
        let fixture = ManagerFixture(originalStore: store)
        try await fixture.manager.cache.store(file, for: url).waitUntilWritten()
        isFull.add(1)
        #expect(await failure(note, fixture.manager.cache, url)?.code == .notStored)
        #expect(await fixture.manager.cache.data(for: url) == file)
    }

    @Test("Too much of it in the file is ignored, and the image is intact") func hostileFiles() throws {
        var entry = CacheEntry(key: "k", data: file, storedAt: .distantPast)
        for (count, isKept) in [(65_536, true), (65_537, false)] {
            entry.attachment = Data(count: count)
            let bytes = try CacheEntryFile.encode(entry, .standard).reduce(Data(), +)
            let read = try CacheEntryFile(tail: bytes, size: bytes.count, key: "k", .standard)?.entry(bytes, .standard)
            #expect(read?.data == file && read?.attachment == (isKept ? entry.attachment : nil))
        }
    }

    @Test("Writers in this process and in another one never mix the data of one image with the bytes of another")
    func concurrency() async throws {
        let directory = try #require(fixture.disk?.directory)
        let limits = DiskLimits(sizeLimit: 1 << 30)
        // Two caches share nothing but the directory, as two processes do.
        let caches = (0..<2).map { _ in DiskCache(directory: directory, limits: limits, hashes: .standard) }
        func entry(_ key: Int, _ version: UInt8) -> CacheEntry {
            var entry = CacheEntry(key: "\(key)", data: Data(repeating: version, count: 3000), storedAt: .distantPast)
            entry.response.etag = "\(version)"
            return entry
        }
        await withTaskGroup(of: Void.self) { group in
            for (number, cache) in caches.enumerated() {
                for task in 0..<3 {
                    group.addTask {
                        for round in 0..<60 {
                            let key = (round + task) % 4
                            switch (round + number) % 3 {
                            case 0: cache.store(entry(key, UInt8(round)))
                            case 1:
                                _ = cache.update("\(key)", completion: nil) { $0.attachment = $0.data.prefix(1) }
                                cache.flush()
                            default: cache.remove("\(key)")
                            }
                            guard let found = cache.entry(for: "\(key)") else { continue }
                            #expect(found.data.allSatisfy { "\($0)" == found.response.etag })
                            #expect(found.attachment == nil || found.attachment == found.data.prefix(1))
                        }
                    }
                }
            }
        }
    }
}
