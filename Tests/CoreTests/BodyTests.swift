import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

@Suite("Bytes between network and decoder")
struct BodyTests {
    @Test("Bodies that arrive count, but nothing waits for them alone")
    func arriving() {
        // Given room for 300 bytes of bodies
        let budget = MemoryBudget(limit: 1600)
        let log = EventLog<String>()
        // When more than that is arriving, for which a slow server may take its time
        var body: MemoryBudget.Reservation? = budget.arrivingBody()
        body?.byteCount = 200
        body?.byteCount += 200
        // Then others may begin, but keep what they get elsewhere
        #expect(budget.arrivingByteCount == 400 && budget.isFullOfBodies && budget.hasRoomForBody)
        // And beside a whole one, which is about to be decoded, they wait
        var whole: MemoryBudget.Reservation? = budget.holdBody(10)
        #expect(!budget.hasRoomForBody && whole != nil)
        budget.whenRoomForBody { log.add("first") }
        whole = nil
        #expect(log.all == ["first"])
        whole = budget.holdBody(10)
        budget.whenRoomForBody { log.add("second") }
        body = nil
        #expect(log.all == ["first", "second"] && budget.arrivingByteCount == 0 && body == nil)
    }

    @Test("A few bodies are enough to keep decoders busy, and large ones fill their share")
    func enough() {
        // Given room for 32 MB of bodies
        let budget = MemoryBudget(limit: 1 << 30)
        // When small ones are there, more than decoders need for the time in which a transfer begins
        var small = (0..<40).map { _ in budget.holdBody(100_000) }
        // Then others come, since they take little
        #expect(budget.hasRoomForBody)
        small += (0..<60).map { _ in budget.holdBody(100_000) }
        // And once they take more they wait, although there is room
        #expect(!budget.hasRoomForBody && budget.used.bodies < budget.bodyLimit)
        // And go on once few are left
        let log = EventLog<String>()
        budget.whenRoomForBody { log.add("room") }
        while log.all.isEmpty, !small.isEmpty { small.removeLast() }
        #expect((10..<100).contains(small.count))
        small = []
        // And a few large ones fill the room
        let large = (0..<3).map { _ in budget.holdBody(10 << 20) }
        #expect(budget.hasRoomForBody)
        let last = budget.holdBody(10 << 20)
        #expect(!budget.hasRoomForBody)
        withExtendedLifetime((large, last)) {}
    }

    @Test("A body in a file takes no memory, and only many of them are waited for")
    func bodiesInFiles() {
        // Given room for 300 bytes of bodies
        let budget = MemoryBudget(limit: 1600)
        // When bodies that are larger are in files
        var files = (0..<31).map { _ in budget.holdBody(1 << 20, isInFile: true) }
        // Then there is room
        #expect(budget.used.bodies == 0 && budget.hasRoomForBody && !budget.keepsBodiesInFiles)
        // And not for any number of them, since each takes room on the disk until it is decoded
        files.append(budget.holdBody(1 << 20, isInFile: true))
        #expect(!budget.hasRoomForBody)
        let log = EventLog<String>()
        budget.whenRoomForBody { log.add("room") }
        files.removeLast()
        #expect(log.all == ["room"] && budget.hasRoomForBody)
        // And a body in memory counts as one until it is given back, in parts too
        let body = budget.holdBody(300)
        #expect(!budget.hasRoomForBody)
        body.shrink(to: 100)
        body.shrink(to: 0)
        #expect(budget.used.bodies == 0 && budget.hasRoomForBody)
        withExtendedLifetime((files, body)) {}
    }

    @Test("The file of an animation counts as long as its frames can be decoded, but nothing waits for it")
    func animations() throws {
        // Given room for 300 bytes of bodies, and the file of an animation that is larger
        let budget = MemoryBudget(limit: 1600)
        let size = PixelSize(width: 1, height: 1)
        let layout = FrameLayout(
            rect: PixelRect(x: 0, y: 0, width: 1, height: 1),
            duration: .milliseconds(100),
            disposal: .keep,
            isBlended: false,
            hasAlpha: false
        )
        final class Frames: FrameSource {
            func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {}
        }
        var options = DecodeOptions()
        options.budget = budget
        // When it is decoded, and its frames are transformed
        var image: WebImage? = try WebImage(
            animated: Frames(),
            layouts: [layout, layout],
            size: size,
            loopCount: 0,
            format: .gif,
            data: Data(count: 400),
            isArriving: false,
            arrival: nil,
            options: options
        )
        var transformed = image?.animation?.mapFrames { $0 }
        #expect(budget.animationByteCount == 400 && transformed != nil)
        // Then other bodies are kept in files, and arrive all the same, with partial images,
        #expect(budget.keepsBodiesInFiles && budget.hasRoomForBody && !budget.isFullOfBodies)
        image = nil
        #expect(budget.keepsBodiesInFiles)
        // And in memory again once nothing can decode its frames.
        transformed = nil
        #expect(budget.animationByteCount == 0 && !budget.keepsBodiesInFiles && image == nil)
    }

    @Test("The bytes of partial images count until the load ends")
    func streamed() {
        let budget = MemoryBudget(limit: 1 << 20)
        let fixture = ManagerFixture(holdsResponses: true) { $0.budget = budget }
        let (url, file) = (fixture.url("a"), TestImage.solid(0xFF0000, size: PixelSize(width: 9, height: 9)))
        fixture.loader.answer(url, with: file)
        load(fixture, url)
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.send(file.prefix(40), for: url)
        fixture.loader.send(file[40..<60], for: url)
        #expect(budget.arrivingByteCount == 60)
        fixture.loader.finish(url)
        #expect(EventLog<Int>.poll { fixture.outcomes.all.count == 1 && budget.arrivingByteCount == 0 })
        // Nor does anything stay of a load that is cancelled.
        let other = load(fixture, fixture.url("b"))
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.send(file.prefix(40), for: fixture.url("b"))
        #expect(budget.arrivingByteCount == 40)
        other.cancel()
        fixture.settle()
        #expect(budget.arrivingByteCount == 0)
    }

    @Test("Without room there are no partial images, and the image is shown once it is complete")
    func fullWhileStreaming() {
        let budget = MemoryBudget(limit: 1 << 20)
        let fixture = ManagerFixture(holdsResponses: true) { $0.budget = budget }
        let (url, file) = (fixture.url("a"), TestImage.solid(0xFF0000, size: PixelSize(width: 9, height: 9)))
        fixture.loader.answer(url, with: file)
        load(fixture, url)
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.send(file.prefix(40), for: url)
        #expect(budget.arrivingByteCount == 40)
        // When there is no room any more, also for those that join now
        let others = budget.holdBody(budget.bodyLimit)
        fixture.loader.send(file[40...], for: url)
        #expect(budget.arrivingByteCount == 0)
        load(fixture, url, size: .contain(PixelSize(width: 5, height: 5)))
        fixture.loader.send(file[40...], for: url)
        #expect(budget.arrivingByteCount == 0)
        fixture.loader.finish(url)
        fixture.outcomes.wait { $0.count == 2 }
        #expect(Set(fixture.outcomes.all.map(\.size)) == [9, 5])
        withExtendedLifetime(others) {}
    }

    @discardableResult
    private func load(_ fixture: ManagerFixture, _ url: URL, size: DecodeSize = .original) -> ImageTask {
        let request = ImageRequest(url: url, loading: .progressive, decodeSize: size)
        return fixture.load(request, partial: { _ in }) { fixture.outcomes.add(.init($0)) }
    }

    @Test("A load keeps no bytes of its cached image while it waits for the server")
    func validated() {
        // Given a stale image in the cache, whose bytes say when they are gone
        let cache = WatchedCache()
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.dataCache = cache }
        let (url, size) = (fixture.url("a"), PixelSize(width: 9, height: 9))
        cache.keep(TestImage.solid(0xFF0000, size: size), for: url.absoluteString)
        // When the server is asked whether it is current
        fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        // Then its bytes are not in memory
        #expect(EventLog<Int>.poll { cache.livingCount == 0 })
        // And when the server has confirmed it, it is read again
        let answer = LoaderResult(data: Data(), metadata: ResponseMetadata(), isNotModified: true)
        fixture.loader.answer(url, with: .success(answer))
        fixture.loader.finish(url)
        fixture.outcomes.wait { $0.count == 1 }
        #expect(fixture.outcomes.all == [.image(size, .revalidated)] && fixture.loader.requests.count == 1)
        #expect(EventLog<Int>.poll { fixture.isQuiet })
    }

    @Test("A cached image that is gone when the server confirms it is loaded again")
    func goneMeanwhile() {
        let cache = WatchedCache()
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.dataCache = cache }
        let (url, size) = (fixture.url("a"), PixelSize(width: 9, height: 9))
        let file = TestImage.solid(0xFF0000, size: size)
        cache.keep(file, for: url.absoluteString)
        fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        // When another process removes it before the server answers
        cache.removeAll()
        let answer = LoaderResult(data: Data(), metadata: ResponseMetadata(), isNotModified: true)
        fixture.loader.answer(url, with: .success(answer))
        fixture.loader.finish(url)
        // Then the server is asked for the bytes
        #expect(EventLog<Int>.poll { fixture.loader.requests.count == 2 && fixture.loader.runningCount == 1 })
        #expect(fixture.loader.requests.map { $0.validators == nil } == [false, true])
        fixture.loader.answer(url, with: file)
        fixture.loader.finish(url)
        fixture.outcomes.wait { $0.count == 1 }
        #expect(fixture.outcomes.all == [.image(size, .loader)])
    }

    @Test("A cached image that is gone when it is to stand in for the server fails with the error of the server")
    func goneWhileOffline() {
        let cache = WatchedCache()
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false) { $0.dataCache = cache }
        let url = fixture.url("a")
        cache.keep(TestImage.solid(0xFF0000, size: PixelSize(width: 9, height: 9)), for: url.absoluteString)
        fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        cache.removeAll()
        let error = ImageError(.connectionFailed, url: url, reason: "r", remedy: "r")
        fixture.loader.answer(url, with: .failure(error))
        fixture.loader.finish(url)
        fixture.outcomes.wait { $0.count == 1 }
        #expect(fixture.outcomes.all == [.failure(.connectionFailed)])
    }
}

extension ManagerFixture.Outcome {
    /// The width of the image.
    fileprivate var size: Int? {
        if case .image(let size, _) = self { size.width } else { nil }
    }
}

/// A cache that counts the bodies which it has handed out and which are still in memory.
private final class WatchedCache: DataCaching {
    private struct State {
        var entries: [String: Data] = [:]
        var livingCount = 0
    }

    private let state = Mutex(State())

    var livingCount: Int { state.withLock { $0.livingCount } }

    func keep(_ file: Data, for key: String) { state.withLock { $0.entries[key] = file } }

    func entry(for key: String) -> CacheEntry? {
        guard let file = state.withLock({ $0.entries[key] }) else { return nil }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: file.count, alignment: 1)
        copy.copyBytes(from: file)
        state.withLock { $0.livingCount += 1 }
        let data = Data(
            bytesNoCopy: copy.baseAddress!,
            count: file.count,
            deallocator: .custom { [weak self] bytes, _ in
                bytes.deallocate()
                self?.state.withLock { $0.livingCount -= 1 }
            }
        )
        var entry = CacheEntry(key: key, data: data, storedAt: Date(timeIntervalSince1970: 0))
        (entry.response.etag, entry.response.cacheControl) = ("\"1\"", "max-age=0")
        return entry
    }

    func store(_ entry: CacheEntry) {}
    func remove(_ key: String) { state.withLock { $0.entries[key] = nil } }
    func removeAll() { state.withLock { $0.entries = [:] } }
    var usage: CacheUsage { CacheUsage() }
}
