import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Images that are replaced or removed while a load works with them")
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
        case .removalOfAll:
            await cache.removeAllFromDisk()
            cache.removeAllFromMemory()
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
