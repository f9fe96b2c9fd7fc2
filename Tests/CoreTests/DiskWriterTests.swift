import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

@Suite("Writing behind: the disk caches are written while nothing is to be decoded")
struct DiskWriterTests {
    /// Decodes images of one size only when the test lets it.
    private final class HeldCoder: ImageDecoding {
        static let heldSize = PixelSize(width: 33, height: 33)
        private let coders = CoderRegistry.builtIn
        private let permits = DispatchSemaphore(value: 0)
        let started = EventLog<Int>()

        func release() { permits.signal() }

        func canDecode(_ format: ImageFormat) -> Bool { coders.decoder(for: format) != nil }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            let image = try coders.decode(data, options: options)
            if image.pixelSize == Self.heldSize {
                started.add(0)
                permits.wait()
            }
            return image
        }
    }

    private let folder = TemporaryDirectory()
    private let decodeQueue = WorkQueue(name: "decode", threadCount: 2)
    private let coder = HeldCoder()
    private let writes = EventLog<String>()
    private let fixture: ManagerFixture

    init() {
        let (coder, writes, decodeQueue, path) = (coder, writes, decodeQueue, folder.path)
        let store = FaultyStore { call, _ in
            if call == "write" { writes.add(call) }
            return nil
        }
        fixture = ManagerFixture(hasResults: false) { dependencies in
            dependencies.coders = CoderRegistry([coder])
            dependencies.decodeQueue = decodeQueue
            dependencies.slowQueue = decodeQueue
            dependencies.dataCache = DiskCache(
                directory: path,
                limits: DiskLimits(sizeLimit: 100_000_000),
                hashes: .standard,
                files: store
            )
        }
    }

    private func answer(_ name: String, _ data: Data) {
        fixture.loader.answer(fixture.url(name), with: .success(LoaderResult(data: data)))
    }

    /// Occupies both decoding threads, and loads an image whose original is stored while they are occupied again.
    private func store(_ data: Data, access: CacheAccess = CacheAccess()) {
        let held = TestImage.solid(1, size: HeldCoder.heldSize)
        for name in ["held 1", "held 2", "held 3"] { answer(name, held) }
        answer("a", data)
        fixture.load("held 1")
        fixture.load("held 2")
        #expect(coder.started.wait { $0.count == 2 })
        fixture.load("a", cacheAccess: access)
        #expect(EventLog<Int>.poll { decodeQueue.pendingCount == 3 })
        fixture.load("held 3")
        #expect(EventLog<Int>.poll { decodeQueue.pendingCount == 4 })
        coder.release()
        #expect(coder.started.wait { $0.count == 3 })
    }

    private func waitUntilQuiet() {
        let isAtRest = { decodeQueue.pendingCount == 0 }
        #expect(EventLog<Int>.poll { isAtRest() && fixture.isQuiet && isAtRest() })
    }

    private func end() {
        for _ in 0..<2 { coder.release() }
        waitUntilQuiet()
    }

    @Test("What was loaded is written once no image waits to be decoded")
    func idle() {
        // Given
        store(TestImage.solid(1, size: PixelSize(width: 20, height: 20)))
        #expect(EventLog<Int>.poll { fixture.manager.pendingWorkCount == decodeQueue.pendingCount })
        // Then
        #expect(writes.all.isEmpty)
        // When
        end()
        // Then
        #expect(writes.all.count == 4)
    }

    @Test("Many bytes are written although images wait to be decoded, so that they do not fill the memory")
    func urgent() {
        // Given
        let large = TestImage.solid(1, size: PixelSize(width: 20, height: 20)) + Data(count: 17 << 20)
        // When
        store(large)
        // Then
        #expect(writes.wait { !$0.isEmpty })
        end()
        #expect(writes.all.count == 4)
    }

    @Test("A load that waits for its writes does not wait for the decodes of others")
    func awaited() {
        // Given
        store(TestImage.solid(1, size: PixelSize(width: 20, height: 20)), access: .awaitingWrites)
        // Then
        #expect(fixture.outcomes.wait { $0.contains(.image(PixelSize(width: 20, height: 20), .loader)) })
        #expect(writes.all.count == 1)
        end()
    }
}
