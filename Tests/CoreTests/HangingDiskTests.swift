import Foundation
import TestSupport
import Testing
import WebImageTesting

@testable import WebImageCore

/// A disk whose reads do not return, as those of a network file system whose server is gone.
@Suite("A disk that hangs")
struct HangingDiskTests {
    private let gate = Gate()
    /// The reads that have begun.
    private let reads = EventLog<Int>()
    private let watchClock = ManualClock()
    private let size = PixelSize(width: 12, height: 12)
    /// A size at which images are kept as renditions, so that the disk is asked for them.
    private let shown = DecodeSize.contain(PixelSize(width: 6, height: 6))

    /// A disk all reads of which wait at the gate.
    private func makeStore() -> FaultyStore {
        let (gate, reads) = (gate, reads)
        return FaultyStore { call, number in
            guard call == "read" else { return nil }
            return .waits {
                reads.add(number)
                gate.wait()
            }
        }
    }

    /// A manager with four threads for such a disk.
    private func makeFixture() -> ManagerFixture {
        let clock = watchClock
        return ManagerFixture(hasDisk: false, resultStore: makeStore()) {
            $0.diskWatchClock = clock
            $0.diskTimeLimit = .seconds(2)
        }
    }

    @Test("Loads that wait for it go on without it after a while, and later ones at once, until it answers again")
    func goesOn() async {
        let fixture = makeFixture()
        for name in (0..<30).map({ "\($0)" }) {
            fixture.loader.answer(fixture.url(name), with: TestImage.solid(1, size: size))
        }
        // Given more loads than threads, all of which hang
        gate.close()
        for number in 0..<8 { fixture.load("\(number)", size: shown) }
        // A read that begins later finds its load gone, which shows that the disk has a thread to spare.
        #expect(await fixture.polled { reads.all.count == 4 })
        #expect(fixture.outcomes.all.isEmpty)
        // When the time is over
        watchClock.advance(by: .seconds(2))
        watchClock.advance(by: .seconds(2))
        // Then the loader serves them
        #expect(await fixture.polled { fixture.outcomes.all.count == 8 })
        #expect(fixture.outcomes.all.allSatisfy { $0 == .image(PixelSize(width: 6, height: 6), .loader) })
        // And later loads do not wait
        for number in 8..<12 { fixture.load("\(number)", size: shown) }
        #expect(await fixture.polled { fixture.outcomes.all.count == 12 })
        // When the disk answers again, then it is used
        gate.open()
        #expect(await fixture.polled { fixture.isQuiet })
        fixture.load("20", cacheAccess: .awaitingWrites, size: shown)
        #expect(await fixture.polled { fixture.outcomes.all.count == 13 })
        fixture.manager.cache.removeAllFromMemory()
        fixture.load("20", size: shown)
        #expect(await fixture.polled { fixture.outcomes.all.count == 14 })
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 6, height: 6), .disk))
    }

    @Test("A load that has nothing but the disk waits for it, until it answers or the network is back")
    func nothingElse() async {
        let fixture = makeFixture()
        let names = ["a", "b", "c", "d"]
        for name in names { fixture.loader.answer(fixture.url(name), with: TestImage.solid(1, size: size)) }
        // Given two images on disk, and a disk that hangs
        for name in ["a", "b"] { fixture.load(name, cacheAccess: .awaitingWrites, size: shown) }
        #expect(await fixture.polled { fixture.outcomes.all.count == 2 && fixture.isQuiet })
        fixture.manager.cache.removeAllFromMemory()
        let before = reads.all.count
        gate.close()
        // When one is wanted from the caches only, and the machine is offline for the other
        fixture.load("a", cachePolicy: .cachedOnly, size: shown)
        fixture.network.status = ImageNetworkStatus(isAvailable: false)
        fixture.load("b", size: shown)
        #expect(await fixture.polled { reads.all.count == before + 2 })
        for _ in 0..<3 { watchClock.advance(by: .seconds(2)) }
        // And one that comes later, too
        fixture.load("a", cachePolicy: .cachedOnly, size: .contain(PixelSize(width: 5, height: 5)))
        #expect(await fixture.polled { reads.all.count == before + 3 })
        // Then all wait
        #expect(fixture.outcomes.all.count == 2)
        // And when the network is back, what it can serve waits no longer
        fixture.network.status = ImageNetworkStatus(isAvailable: true)
        watchClock.advance(by: .seconds(2))
        watchClock.advance(by: .seconds(2))
        #expect(await fixture.polled { fixture.outcomes.all.count == 3 })
        #expect(fixture.outcomes.all.last == .image(PixelSize(width: 6, height: 6), .loader))
        // And the disk serves the rest
        gate.open()
        #expect(await fixture.polled { fixture.outcomes.all.count == 5 })
        #expect(fixture.outcomes.all.contains(.image(PixelSize(width: 6, height: 6), .disk)))
        #expect(fixture.outcomes.all.contains(.failure(.notInCache)))
    }

    @Test("A load that reads no cache does not ask it on the thread of its loader", arguments: [false, true])
    func reload(isOfBytes: Bool) async throws {
        let fixture = ManagerFixture(originalStore: makeStore())
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(1, size: size))
        fixture.load("a", cacheAccess: .awaitingWrites)
        #expect(await fixture.polled { fixture.outcomes.all.count == 1 && fixture.isQuiet })
        let before = reads.all.count
        // Given a disk that hangs
        gate.close()
        defer { gate.open() }
        // When the image is loaded past the caches
        var request = ImageRequest(url: fixture.url("a"), cachePolicy: .reload)
        request.cacheAccess.writes = .disk
        let ends = EventLog<Bool>()
        let dispatcher = InlineDispatcher()
        let tasks: [any Sendable] =
            isOfBytes
            ? [fixture.manager.loadData(request, on: dispatcher) { _ in ends.add(true) }]
            : [fixture.load(request) { _ in ends.add(true) }]
        // Then it ends, and the memory cache has no image of the earlier version
        #expect(await fixture.polled { ends.all.count == 1 })
        withExtendedLifetime(tasks) {}
        #expect(reads.all.count == before)
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: fixture.url("a"))) == nil)
    }

    @Test("A load ends with the error of its server if the disk hangs that has the image to use instead")
    func standsIn() async {
        let clock = watchClock
        let fixture = ManagerFixture(holdsResponses: true, hasResults: false, originalStore: makeStore()) {
            $0.diskWatchClock = clock
            $0.diskTimeLimit = .seconds(2)
        }
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.solid(1, size: size))
        fixture.load("a", cacheAccess: .awaitingWrites)
        #expect(await fixture.polled { fixture.loader.runningCount == 1 })
        fixture.loader.finish(url)
        #expect(await fixture.polled { fixture.outcomes.all.count == 1 && fixture.isQuiet })
        // Given an image on disk that the server is asked about
        fixture.load("a", cachePolicy: .refresh)
        #expect(await fixture.polled { fixture.loader.runningCount == 1 })
        let before = reads.all.count
        // When the server fails, and the disk hangs
        gate.close()
        defer { gate.open() }
        let error = ImageError(.connectionFailed, url: url, reason: "r", remedy: "r")
        fixture.loader.answer(url, with: .failure(error))
        fixture.loader.finish(url)
        #expect(await fixture.polled { reads.all.count == before + 1 })
        watchClock.advance(by: .seconds(2))
        watchClock.advance(by: .seconds(2))
        // Then the server is not asked again
        #expect(await fixture.polled { fixture.outcomes.all.count == 2 || fixture.loader.requests.count == 3 })
        #expect(fixture.outcomes.all.last == .failure(.connectionFailed))
    }

    @Test("Reads that were given up while other work kept their threads do not leave the disk switched off")
    func busyThreads() async {
        let queue = WorkQueue(name: "test-io", threadCount: 2)
        let clock = watchClock
        let fixture = ManagerFixture(hasResults: false) {
            $0.ioQueue = queue
            $0.diskWatchClock = clock
            $0.diskTimeLimit = .seconds(2)
        }
        fixture.loader.answer(fixture.url("a"), with: TestImage.solid(1, size: size))
        fixture.load("a", cacheAccess: .awaitingWrites)
        #expect(await fixture.polled { fixture.outcomes.all.count == 1 })
        // Given threads that are busy for long, and a load that is served without them
        gate.close()
        let busy = EventLog<Int>()
        for number in 0..<2 {
            queue.submit { [gate] in
                busy.add(number)
                gate.wait()
            }
        }
        #expect(await fixture.polled { busy.all.count == 2 })
        fixture.manager.cache.removeAllFromMemory()
        fixture.load("a")
        // The load may not have begun to wait when the clock is first advanced.
        #expect(
            await fixture.polled {
                watchClock.advance(by: .seconds(2))
                return fixture.outcomes.all.count == 2
            }
        )
        #expect(fixture.outcomes.all.last == .image(size, .loader))
        // When they are free again, then the disk is read
        gate.open()
        #expect(await fixture.polled { queue.pendingCount == 0 })
        fixture.manager.cache.removeAllFromMemory()
        fixture.load("a")
        #expect(await fixture.polled { fixture.outcomes.all.count == 3 })
        #expect(fixture.outcomes.all.last == .image(size, .disk))
    }

    @Test("A slow disk that answers is waited for")
    func slow() async {
        let gate = gate
        let started = EventLog<Int>()
        let store = FaultyStore { call, number in
            guard call == "read" else { return nil }
            return .waits {
                started.add(number)
                if number > 1 { gate.wait() }
            }
        }
        let clock = watchClock
        let fixture = ManagerFixture(hasDisk: false, resultStore: store) { $0.diskWatchClock = clock }
        for name in ["a", "b"] { fixture.loader.answer(fixture.url(name), with: TestImage.solid(1, size: size)) }
        gate.close()
        // Given a read that has begun, and one that ends between two looks
        fixture.load("a", size: shown)
        #expect(await fixture.polled { fixture.outcomes.all.count == 1 })
        fixture.load("b", size: shown)
        #expect(await fixture.polled { started.all.count == 2 })
        watchClock.advance(by: .seconds(2))
        #expect(fixture.loader.requests.count == 1)
        gate.open()
        #expect(await fixture.polled { fixture.outcomes.all.count == 2 })
        #expect(await fixture.polled { fixture.isIdle })
    }
}
