import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

@Suite("Images that are replaced or removed while a load works with them, or by one that cannot be kept")
struct ReplacedImageTests {
    /// What becomes of an image.
    enum Change: CaseIterable, Sendable {
        case image, bytes, removal, removalOfAll, reload
    }

    private static let size = PixelSize(width: 400, height: 300)
    private let old = TestImage.solid(0x112233, size: Self.size)
    private let new = TestImage.solid(0xDDEEFF, size: PixelSize(width: 400, height: 200))

    private func make(_ change: Change, _ fixture: ManagerFixture, _ url: URL) async throws {
        let cache = fixture.manager.cache
        switch change {
        case .image: try await cache.store(try CoderRegistry.builtIn.decode(new), for: url).waitUntilWritten()
        case .bytes: try await cache.store(new, for: url).waitUntilWritten()
        case .removal: await cache.remove(url)
        case .removalOfAll: await cache.removeAll()
        case .reload:
            fixture.loader.answer(url, with: new)
            var request = ImageRequest(url: url, cachePolicy: .reload)
            request.cacheAccess = .awaitingWrites
            _ = try await fixture.manager.image(for: request)
        }
    }

    @Test("A decode that is under way does not bring the image back", arguments: Change.allCases, [true, false])
    func decodes(change: Change, isOnDisk: Bool) async throws {
        let (gate, held) = (Gate(), EventLog<Int>())
        let fixture = ManagerFixture { $0.coders = .builtIn(adding: [], encoders: []) }
        let (manager, url) = (fixture.manager, fixture.url("a"))
        fixture.loader.answer(url, with: old)
        if isOnDisk {
            _ = try await manager.image(for: url)
            #expect(await fixture.polled { fixture.isQuiet })
            manager.cache.removeAllFromMemory()
        }
        // Given a load that has the bytes of an image, from the disk or the network
        let transformer = ImageTransformer.custom(key: "held") { image in
            held.add(1)
            gate.wait()
            return image
        }
        let small = DecodeSize.contain(PixelSize(width: 40, height: 40))
        let request = ImageRequest(url: url, decodeSize: small, transformer: transformer)
        gate.close()
        let running = Task { try await manager.image(for: request) }
        #expect(await eventually { !held.all.isEmpty })
        // When the image is replaced or removed, and the load goes on after that
        try await make(change, fixture, url)
        gate.open()
        #expect(try await running.value.naturalSize == Self.size)
        #expect(await fixture.polled { fixture.isQuiet })
        // Then nothing of it stays
        let tiers = await manager.cache.tiers(containing: request)
        #expect(tiers.isDisjoint(with: [.memory, .renditions]), "\(tiers)")
        let isGone = change == .removal || change == .removalOfAll
        #expect(await manager.cache.data(for: url) != old)
        #expect(tiers.contains(.originals) != isGone)
        if !isGone { #expect(try await manager.image(for: request).naturalSize.height == 200) }
    }

    @Test(
        "A transfer that has begun before its image was removed is delivered, and no cache keeps it",
        arguments: [CacheTiers.all, .disk, .originals, .renditions, .memory],
        [true, false]
    )
    func transfers(tiers: CacheTiers, isOfAll: Bool) async throws {
        let fixture = ManagerFixture(holdsResponses: true)
        let (manager, url) = (fixture.manager, fixture.url("a"))
        fixture.loader.answer(url, with: old)
        for isAgain in [false, true] {
            let running = Task { try await manager.image(for: url) }
            #expect(await eventually { fixture.loader.runningCount == 1 })
            if !isAgain, isOfAll { await manager.cache.removeAll(from: tiers) }
            if !isAgain, !isOfAll { await manager.cache.remove(url, from: tiers) }
            fixture.loader.finish(url)
            #expect(try await running.value.naturalSize == Self.size)
            #expect(await fixture.polled { fixture.isQuiet })
            #expect(await manager.cache.tiers(containing: url).isEmpty != isAgain)
        }
    }

    @Test(
        "A rendition that waits to be written is not written after renditions were removed",
        arguments: [true, false]
    )
    func pendingRenditions(isOfAll: Bool) async throws {
        let fixture = ManagerFixture()
        let cache = fixture.manager.cache
        for number in 0..<20 {
            let url = fixture.url("\(number)")
            fixture.loader.answer(url, with: old)
            let size = DecodeSize.contain(PixelSize(width: 40, height: 40))
            let request = ImageRequest(url: url, decodeSize: size)
            _ = try await fixture.manager.image(for: request)
            if isOfAll {
                await cache.removeAll(from: .renditions)
            } else {
                await cache.remove(request, from: .renditions)
            }
            #expect(await fixture.polled { fixture.isQuiet })
            #expect(await !cache.tiers(containing: request).contains(.renditions))
        }
    }

    @Test("A reload that began before the app stored an image leaves that image in the caches")
    func storedMeanwhile() async throws {
        let fixture = ManagerFixture(holdsResponses: true) { $0.coders = .builtIn(adding: [], encoders: []) }
        let (manager, url) = (fixture.manager, fixture.url("a"))
        fixture.loader.answer(url, with: old)
        let running = Task { try await manager.image(for: ImageRequest(url: url, cachePolicy: .reload)) }
        #expect(await eventually { fixture.loader.runningCount == 1 })
        try await manager.cache.store(try CoderRegistry.builtIn.decode(new), for: url).waitUntilWritten()
        fixture.loader.finish(url)
        #expect(try await running.value.naturalSize == Self.size)
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(manager.cachedImage(for: url)?.naturalSize.height == 200)
        #expect(await manager.cache.tiers(containing: url).contains(.originals))
    }

    @Test("A load with bytes of a moment before does not replace what the app has stored since")
    func originals() async throws {
        let (gate, held) = (Gate(), EventLog<Int>())
        let coder = HeldCoder(gate: gate, log: held)
        let fixture = ManagerFixture { $0.coders = .builtIn(adding: [coder], encoders: []) }
        let (manager, url) = (fixture.manager, fixture.url("a"))
        fixture.loader.answer(url, with: old)
        // Given bytes that are being decoded before they go to the disk
        gate.close()
        let running = Task { try await manager.image(for: url) }
        #expect(await eventually { !held.all.isEmpty })
        // When the app stores others
        try await manager.cache.store(new, for: url).waitUntilWritten()
        gate.open()
        _ = try await running.value
        #expect(await fixture.polled { fixture.isQuiet })
        // Then these stay
        #expect(await manager.cache.data(for: url) == new)
        #expect(manager.cachedImage(for: ImageRequest(url: url)) == nil)
    }

    @Test("A load that is kept in memory alone does not keep another one off the disk")
    func memoryOnly() async throws {
        let (gate, held, loaded) = (Gate(), EventLog<Int>(), EventLog<Int>())
        let fixture = ManagerFixture { $0.coders = .builtIn(adding: [HeldCoder(gate: gate, log: held)], encoders: []) }
        let (manager, url) = (fixture.manager, fixture.url("a"))
        fixture.loader.answer(url, with: old)
        let observation = manager.observe { if case .fetched = $0.kind { loaded.add(1) } }
        // Given bytes that are being decoded before they go to the disk
        gate.close()
        let running = Task { try await manager.image(for: url) }
        #expect(await eventually { held.all.count == 1 })
        // When those of a load arrive that the disk does not get
        var request = ImageRequest(url: url, cachePolicy: .reload)
        request.cacheAccess = CacheAccess(reads: .memory, writes: .memory)
        let other = Task { [request] in try await manager.image(for: request) }
        #expect(await eventually { loaded.all.count == 2 })
        gate.open()
        _ = try await (running.value, other.value)
        #expect(await fixture.polled { fixture.isQuiet })
        // Then the first ones are there
        #expect(await manager.cache.data(for: url) == old)
        withExtendedLifetime(observation) {}
    }

    @Test("A size that is read while a new version is being stored is not kept")
    func readWhileStoring() async throws {
        let fixture = ManagerFixture { $0.coders = .builtIn(adding: [], encoders: []) }
        let (manager, url, results) = (fixture.manager, fixture.url("a"), EventLog<WebImage>())
        fixture.loader.answer(url, with: old)
        _ = try await manager.image(for: url)
        #expect(await fixture.polled { fixture.isQuiet })
        let small = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 40, height: 40)))
        // The disk gets the new version after this.
        let observation = manager.observe { event in
            guard case .stored = event.kind else { return }
            manager.load(small, on: InlineDispatcher()) { result in
                if case .success(let response) = result { results.add(response.image) }
            }
            _ = EventLog<Int>.poll { results.all.count == 1 }
        }
        fixture.loader.answer(url, with: new)
        _ = try await manager.image(for: ImageRequest(url: url, cachePolicy: .reload))
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(results.all.map(\.naturalSize) == [Self.size])
        #expect(try await manager.image(for: small).naturalSize.height == 200)
        withExtendedLifetime(observation) {}
    }

    @Test("What is known of changes is bounded, and work that is older than that counts as outdated")
    func versions() {
        let versions = ImageVersions(limit: 4)
        let (first, fetched) = (versions.mark(), versions.mark())
        versions.change("a", to: fetched)
        #expect(!versions.isCurrent(first, of: "a") && versions.isCurrent(fetched, of: "a"))
        #expect(versions.isCurrent(first, of: "b") && versions.isCurrent(nil, of: "a"))
        let later = versions.mark()
        #expect(versions.isCurrent(later, of: "a"))
        for number in 0..<4 { versions.change("\(number)") }
        #expect(versions.isCurrent(later, of: "a") && !versions.isCurrent(later, of: "3"))
        for number in 0..<20 { versions.change("\(number)") }
        #expect(!versions.isCurrent(later, of: "b") && versions.isCurrent(versions.mark(), of: "3"))
        let last = versions.mark()
        versions.changeAll()
        #expect(!versions.isCurrent(last, of: "b") && versions.isCurrent(versions.mark(), of: "b"))
        // What is read while newer bytes are being stored is outdated from the start.
        versions.change("c", to: fetched, isBeingStored: true)
        let read = versions.mark(reading: "c")
        versions.change("c", to: fetched)
        #expect(!versions.isCurrent(read, of: "c") && versions.isCurrent(versions.mark(reading: "c"), of: "c"))
        // A fetch that follows such a read brings current bytes, unless the image is removed meanwhile.
        #expect(versions.isCurrent(versions.mark(of: "c", since: read), of: "c"))
        versions.change("c")
        #expect(!versions.isCurrent(versions.mark(of: "c", since: read), of: "c"))
    }
}

// Versions that cannot be kept.
extension ReplacedImageTests {
    @Test("A reload that brings more than is kept, or what a serializer refuses, leaves nothing of the version before")
    func refusedReloads() async throws {
        for isRefused in [true, false] {
            let serializer = CacheSerializer { image, data, _ in image.pixelSize.height == 300 ? data : nil }
            let fixture = ManagerFixture(sizeLimit: 40_000, serializer: isRefused ? serializer : nil)
            let (manager, url) = (fixture.manager, fixture.url("a"))
            // Given an image on disk, with a rendition
            fixture.loader.answer(url, with: old)
            let small = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: 40, height: 40)))
            _ = try await manager.image(for: small)
            #expect(await fixture.polled { fixture.isQuiet && fixture.disk?.usage.count == 1 })
            // When a load replaces it by one that is not kept
            let large = TestImage.make(size: PixelSize(width: 400, height: 200)) { x, y in
                UInt32(truncatingIfNeeded: (x &* 7919 &+ y &* 104_729) &* (x ^ y &* 31)) & 0xFFFFFF
            }
            fixture.loader.answer(url, with: large)
            _ = try await manager.image(for: ImageRequest(url: url, cachePolicy: .reload))
            #expect(await fixture.polled { fixture.isQuiet })
            // Then neither is there, for the next process either
            #expect(await manager.cache.tiers(containing: small).isDisjoint(with: .disk))
            #expect(fixture.disk?.usage.count == 0)
            // A refused original leaves its rendition, and with it the outdated ones until they make room.
            #expect(isRefused || fixture.results.usage.count == 0)
        }
    }

    /// Why an entry is not kept.
    enum Obstacle: CaseIterable, Sendable {
        case size, fullDisk, pause
    }

    @Test("An entry that is not kept takes the one before with it, on disk and at once", arguments: Obstacle.allCases)
    func refusedEntries(obstacle: Obstacle) throws {
        let (directory, isFull, ends) = (TemporaryDirectory(), EventLog<Int>(), EventLog<StoreFailure?>())
        let store = FaultyStore { call, _ in call == "write" && !isFull.all.isEmpty ? .fails(ENOSPC) : nil }
        let limits = DiskLimits(sizeLimit: 100_000)
        let cache = DiskCache(directory: directory.path, limits: limits, hashes: .standard, files: store)
        func entry(_ key: String, _ count: Int) -> CacheEntry {
            CacheEntry(key: key, data: Data(count: count), storedAt: Date(timeIntervalSince1970: Double(count)))
        }
        // Given an entry in its file, and an entry that cannot be kept in its place
        for key in ["a", "b"] { cache.store(entry(key, 10)) }
        cache.flush()
        if obstacle != .size { isFull.add(1) }
        if obstacle == .pause {
            cache.store(entry("c", 10))
            cache.flush()
        }
        // When the latter is stored
        cache.store(entry("a", obstacle == .size ? 25_001 : 20)) { ends.add($0) }
        // Then the former is not found from that moment on
        #expect(
            cache.entry(for: "a")?.data.count != 10 && cache.metadata(for: "a")?.storedAt != entry("a", 10).storedAt
        )
        #expect(cache.contains("a") == (obstacle == .fullDisk))
        cache.flush()
        // And its file is gone when the writing has ended, while a renewal leaves the file
        #expect(ends.all.count == 1 && ends.all.first != .some(nil))
        #expect(!cache.contains("a") && !FileStore().exists(cache.filePath(for: "a")))
        if obstacle != .size {
            cache.change(entry("b", 10)) { $0.response.etag = "new" }
            cache.flush()
            #expect(cache.entry(for: "b")?.data.count == 10)
        }
        // And the next version is kept as soon as it can be
        guard obstacle == .size else { return }
        cache.store(entry("a", 30))
        cache.flush()
        #expect(cache.entry(for: "a")?.data.count == 30)
    }

    @Test("An entry that is stored after one that was refused stays, whoever removes the file of the latter")
    func refusedBefore() {
        let directory = TemporaryDirectory()
        let cache = DiskCache(directory: directory.path, limits: DiskLimits(sizeLimit: 100_000), hashes: .standard)
        let ends = EventLog<StoreFailure?>()
        for count in [10, 30_000, 20] {
            cache.store(CacheEntry(key: "a", data: Data(count: count), storedAt: .distantPast)) { ends.add($0) }
        }
        cache.waitUntilWritten("a")
        cache.flush()
        #expect(cache.entry(for: "a")?.data.count == 20)
        #expect(ends.all == [.removed, .tooLarge(limit: 25_000), nil])
    }

    @Test("A key that is too long for its file is refused rather than written in vain")
    func longKey() {
        let directory = TemporaryDirectory()
        let cache = DiskCache(directory: directory.path, limits: DiskLimits(sizeLimit: 1 << 30), hashes: .standard)
        let ends = EventLog<StoreFailure?>()
        let key = "http://host/" + String(repeating: "k", count: 5_000_000)
        cache.store(CacheEntry(key: key, data: Data([1]), storedAt: .distantPast)) { ends.add($0) }
        cache.flush()
        #expect(ends.all == [.metadataTooLarge] && cache.failureCount == 0)
        #expect(cache.entry(for: key) == nil && cache.usage.count == 0)
    }
}

/// A decoder that waits.
private struct HeldCoder: ImageDecoding {
    let gate: Gate
    let log: EventLog<Int>

    func canDecode(_ format: ImageFormat) -> Bool { format == .png }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        log.add(1)
        gate.wait()
        return try CoderRegistry.builtIn.decode(data, options: options)
    }
}
