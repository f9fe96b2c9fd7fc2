import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Loads of bytes")
struct DataLoadTests {
    private static let image = TestImage.solid(0xFF0000, size: PixelSize(width: 10, height: 8))
    private static let page = Data("This is a text, not an image".utf8)

    private func answer(
        _ fixture: ManagerFixture,
        _ name: String = "a",
        _ data: Data = image,
        cacheControl: String? = nil,
        isNotModified: Bool = false
    ) {
        var metadata = ResponseMetadata(contentType: "image/png")
        (metadata.cacheControl, metadata.etag, metadata.responseTime) = (cacheControl, "\"1\"", fixture.clock.now)
        let head = ResponseHead(url: fixture.url(name), status: isNotModified ? 304 : 200)
        let result = LoaderResult(data: data, metadata: metadata, head: head, isNotModified: isNotModified)
        fixture.loader.answer(fixture.url(name), with: .success(result))
    }

    private func fail(_ fixture: ManagerFixture, _ name: String = "a", _ code: ImageError.Code) {
        let error = ImageError(code, url: fixture.url(name), reason: "r", remedy: "r")
        fixture.loader.answer(fixture.url(name), with: .failure(error))
    }

    private func start(_ fixture: ManagerFixture, _ request: some ImageRequestConvertible) -> DataTask {
        fixture.manager.loadData(request, on: InlineDispatcher()) { _ in }
    }

    private func isOnDisk(_ fixture: ManagerFixture, _ name: String = "a") -> Bool {
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        return fixture.disk?.contains(fixture.url(name).absoluteString) == true
    }

    @Test("The bytes are those of the loader, then those of the disk cache, and nothing is decoded")
    func loaded() async throws {
        let fixture = ManagerFixture()
        answer(fixture)
        let loaded = try await fixture.manager.dataResponse(for: fixture.url("a"))
        #expect(loaded.data == Self.image && loaded.source == .loader && loaded.url == fixture.url("a"))
        #expect(loaded.head?.status == 200 && isOnDisk(fixture))
        #expect(try await fixture.manager.dataResponse(for: fixture.url("a")).source == .disk)
        #expect(try await fixture.manager.data(for: fixture.url("a")) == Self.image)
        #expect(fixture.decodes.count == 0 && fixture.loader.started.count == 1)
        // Images come from what was stored.
        #expect(try await fixture.manager.response(for: fixture.url("a")).source == .disk)
        #expect(fixture.loader.started.count == 1 && fixture.memory.statistics.count == 1)
    }

    @Test("Loads of bytes and of images of a URL share one transfer, whichever comes first")
    func coalesced() async throws {
        for isFirst in [true, false] {
            let fixture = ManagerFixture(holdsResponses: true)
            answer(fixture)
            let url = fixture.url("a")
            var data: [DataTask] = []
            if isFirst { data.append(start(fixture, url)) }
            let images = [nil, PixelSize(width: 5, height: 4)].map { size in
                let request = ImageRequest(url: url, decodeSize: size.map { .contain($0) })
                return fixture.manager.load(request, on: InlineDispatcher()) { _ in }
            }
            data += (0..<2).map { _ in start(fixture, url) }
            #expect(await eventually { fixture.manager.pendingChangeCount == 0 && fixture.loader.runningCount == 1 })
            fixture.loader.finish(url)
            for task in data { #expect(try await task.data == Self.image) }
            #expect(try await images[0].image.pixelSize == PixelSize(width: 10, height: 8))
            #expect(try await images[1].image.pixelSize == PixelSize(width: 5, height: 4))
            #expect(fixture.loader.started.count == 1 && isOnDisk(fixture))
        }
    }

    @Test("A transfer goes on for those who are left, and ends with the last, of bytes or of images")
    func cancelled() async throws {
        let fixture = ManagerFixture(holdsResponses: true)
        let url = fixture.url("a")
        answer(fixture)
        for cancelsDataFirst in [true, false] {
            let image = fixture.manager.load(url, on: InlineDispatcher()) { _ in }
            let data = start(fixture, url)
            #expect(await eventually { fixture.manager.pendingChangeCount == 0 && fixture.loader.runningCount == 1 })
            if cancelsDataFirst { data.cancel() } else { image.cancel() }
            #expect(await eventually { fixture.manager.pendingChangeCount == 0 })
            #expect(fixture.loader.runningCount == 1)
            if cancelsDataFirst { image.cancel() } else { data.cancel() }
            #expect(await eventually { fixture.manager.activeCounts == (0, 0) && fixture.loader.runningCount == 0 })
            #expect(await thrownError { try await data.data }?.code == .cancelled)
            #expect(data.isCancelled && data.isFinished)
        }
        #expect(fixture.loader.cancelled == [url, url])
        // Cancelling the Swift task cancels the load.
        let task = Task { try await fixture.manager.data(for: url) }
        #expect(await eventually { fixture.loader.runningCount == 1 })
        task.cancel()
        #expect(await thrownError { try await task.value }?.code == .cancelled)
        #expect(await eventually { fixture.loader.runningCount == 0 })
    }

    @Test("A transfer has the highest priority of those who wait for bytes and images")
    func priorities() async throws {
        let fixture = ManagerFixture(holdsResponses: true)
        let url = fixture.url("a")
        func priority() async -> ImagePriority? {
            _ = await eventually { fixture.manager.pendingChangeCount == 0 && fixture.loader.runningCount == 1 }
            return fixture.loader.priority(of: url)
        }
        let data = start(fixture, ImageRequest(url: url, priority: .low))
        #expect(await priority() == .low)
        let image = fixture.manager.load(ImageRequest(url: url, priority: .normal), on: InlineDispatcher()) { _ in }
        #expect(await priority() == .normal)
        data.priority = .veryHigh
        #expect(await priority() == .veryHigh)
        data.cancel()
        #expect(await priority() == .normal)
        image.cancel()
    }

    @Test("Bytes that are no image are returned, and no cache keeps them as one")
    func otherBytes() async throws {
        let fixture = ManagerFixture()
        answer(fixture, "a", Self.page)
        #expect(try await fixture.manager.data(for: fixture.url("a")) == Self.page)
        #expect(!isOnDisk(fixture))
        let error = await thrownError { try await fixture.manager.image(for: fixture.url("a")) }
        #expect(error?.code == .badImageData)
        // That the image is remembered to be damaged does not matter to bytes, nor do these to the image.
        #expect(try await fixture.manager.data(for: fixture.url("a")) == Self.page)
        let remembered = await thrownError { try await fixture.manager.image(for: fixture.url("a")) }
        #expect(remembered?.isRemembered == true && !isOnDisk(fixture))
        // The beginning of an image is kept, until somebody finds that it is damaged.
        answer(fixture, "cut", Self.image.prefix(Self.image.count / 2))
        #expect(try await fixture.manager.data(for: fixture.url("cut")).count == Self.image.count / 2)
        #expect(isOnDisk(fixture, "cut"))
        #expect(await thrownError { try await fixture.manager.image(for: fixture.url("cut")) }?.code == .badImageData)
        #expect(!isOnDisk(fixture, "cut"))
        answer(fixture, "cut")
        #expect(try await fixture.manager.response(for: fixture.url("cut")).source == .loader)
        answer(fixture, "empty", Data())
        #expect(try await fixture.manager.data(for: fixture.url("empty")).isEmpty && !isOnDisk(fixture, "empty"))
    }

    @Test("The request says what is read and stored, and a serializer needs an image")
    func storing() async throws {
        let serializer = CacheSerializer { _, data, _ in data }
        for (access, serializer, isStored) in [
            (CacheAccess(), nil, true), (.writingMemoryOnly, nil, false), (CacheAccess(), serializer, false),
        ] as [(CacheAccess, CacheSerializer?, Bool)] {
            let fixture = ManagerFixture(serializer: serializer)
            answer(fixture)
            var request = ImageRequest(url: fixture.url("a"))
            request.cacheAccess = access
            #expect(try await fixture.manager.data(for: request) == Self.image)
            #expect(isOnDisk(fixture) == isStored)
        }
        let fixture = ManagerFixture()
        answer(fixture, cacheControl: "no-store")
        _ = try await fixture.manager.data(for: fixture.url("a"))
        #expect(!isOnDisk(fixture))
        answer(fixture, "b")
        var request = ImageRequest(url: fixture.url("b"))
        request.cacheAccess = .awaitingWrites
        _ = try await fixture.manager.data(for: request)
        let path = try #require(fixture.disk?.path(for: request.sourceKey))
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test("Bytes are revalidated, served stale when the server cannot be asked, and reloaded, as the policy says")
    func revalidated() async throws {
        let fixture = ManagerFixture()
        let url = fixture.url("a")
        func load(_ policy: ImageRequest.CachePolicy = .standard) async throws(ImageError) -> DataResponse {
            try await fixture.manager.dataResponse(for: ImageRequest(url: url, cachePolicy: policy))
        }
        #expect(await thrownError { try await load(.cachedOnly) }?.code == .notInCache)
        answer(fixture, cacheControl: "max-age=60")
        #expect(try await load().source == .loader && isOnDisk(fixture))
        #expect(try await load().source == .disk)
        fixture.clock.advance(by: .seconds(61))
        answer(fixture, "a", Data(), cacheControl: "max-age=60", isNotModified: true)
        let confirmed = try await load()
        #expect(confirmed.source == .revalidated && confirmed.data == Self.image && confirmed.head?.status == 304)
        #expect(try await load().source == .disk)
        #expect(try await load(.refresh).source == .revalidated)
        fixture.clock.advance(by: .seconds(61))
        fail(fixture, "a", .connectionFailed)
        let stale = try await load()
        #expect(stale.source == .disk && stale.data == Self.image && stale.refreshError?.code == .connectionFailed)
        #expect(try await load(.cachedElseLoad).source == .disk)
        #expect(try await load(.cachedOnly).source == .disk)
        let other = TestImage.solid(1, size: PixelSize(width: 3, height: 3))
        answer(fixture, "a", other, cacheControl: "max-age=60")
        #expect(try await load(.reload).data == other && isOnDisk(fixture))
        #expect(try await load().data == other)
    }

    @Test("A reload of bytes replaces the image in memory")
    func reloaded() async throws {
        let fixture = ManagerFixture()
        answer(fixture)
        _ = try await fixture.manager.image(for: fixture.url("a"))
        answer(fixture, "a", TestImage.solid(1, size: PixelSize(width: 3, height: 3)))
        _ = try await fixture.manager.data(for: ImageRequest(url: fixture.url("a"), cachePolicy: .reload))
        #expect(isOnDisk(fixture))
        #expect(try await fixture.manager.image(for: fixture.url("a")).pixelSize.width == 3)
    }

    @Test("A failed load of bytes is retried, remembered, and goes on with the fallback URLs")
    func failing() async throws {
        var policy = ImageRetryPolicy()
        (policy.maximumCount, policy.jitter) = (1, 0)
        let fixture = ManagerFixture(retryPolicy: policy)
        fail(fixture, "a", .connectionFailed)
        let task = start(fixture, fixture.url("a"))
        #expect(await eventually { fixture.loader.started.count == 1 && fixture.manager.activeCounts.fetches == 1 })
        answer(fixture)
        #expect(
            await eventually {
                fixture.clock.advance(by: .seconds(1))
                return task.isFinished
            }
        )
        #expect(try await task.data == Self.image && fixture.loader.started.count == 2)
        for isRemembered in [false, true] {
            let error = await thrownError { try await fixture.manager.data(for: fixture.url("missing")) }
            #expect(error?.httpStatus == 404 && error?.isRemembered == isRemembered)
        }
        var request = ImageRequest(url: fixture.url("missing"))
        request.fallbackURLs = [fixture.url("missing too"), fixture.url("b"), fixture.url("never")]
        answer(fixture, "b")
        let response = try await fixture.manager.dataResponse(for: request)
        #expect(response.data == Self.image && response.url == fixture.url("b"))
        #expect(!fixture.loader.started.contains(fixture.url("never")) && isOnDisk(fixture, "b"))
        fixture.network.status = ImageNetworkStatus(isAvailable: false)
        #expect(await thrownError { try await fixture.manager.data(for: fixture.url("c")) }?.code == .offline)
    }

    @Test("An image in memory serves an image load whose server fails, and no load of bytes")
    func imageInMemory() async throws {
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false)
        let url = fixture.url("a")
        answer(fixture, cacheControl: "max-age=60")
        let first = fixture.manager.load(url, on: InlineDispatcher()) { _ in }
        #expect(await eventually { fixture.loader.runningCount == 1 })
        fixture.loader.finish(url)
        _ = try await first.image
        fail(fixture, "a", .connectionFailed)
        let image = fixture.manager.load(ImageRequest(url: url, cachePolicy: .refresh), on: InlineDispatcher()) { _ in }
        let data = start(fixture, ImageRequest(url: url, cachePolicy: .refresh))
        #expect(await eventually { fixture.manager.pendingChangeCount == 0 && fixture.loader.runningCount == 1 })
        fixture.loader.finish(url)
        #expect(try await image.response.refreshError?.code == .connectionFailed)
        let error = await thrownError { try await data.data }
        #expect(error?.code == .connectionFailed && error?.attempts.map(\.url) == [url])
    }

    @Test("The server confirms a rendition to an image load, and sends its bytes to a load of bytes")
    func renditions() async throws {
        let fixture = ManagerFixture()
        let (url, size) = (fixture.url("a"), DecodeSize.contain(PixelSize(width: 5, height: 4)))
        answer(fixture, cacheControl: "no-cache")
        _ = try await fixture.manager.image(for: ImageRequest(url: url, decodeSize: size))
        #expect(isOnDisk(fixture))
        fixture.disk?.remove(url.absoluteString)
        fixture.manager.cache.removeAllFromMemory()
        let data = start(fixture, url)
        let image = fixture.manager.load(ImageRequest(url: url, decodeSize: size), on: InlineDispatcher()) { _ in }
        #expect(try await data.data == Self.image)
        #expect(try await image.image.pixelSize.width == 5)
    }

    @Test("Progress is reported, a suspended manager holds loads of bytes, and cancelAll ends them")
    func control() async throws {
        let fixture = ManagerFixture(holdsResponses: true)
        let (url, progress) = (fixture.url("a"), EventLog<Int64>())
        answer(fixture)
        fixture.manager.isSuspended = true
        let task = fixture.manager.loadData(
            url,
            on: InlineDispatcher(),
            progress: { received, _ in progress.add(received) }
        ) { _ in }
        let other = start(fixture, fixture.url("b"))
        #expect(await eventually { fixture.manager.pendingChangeCount == 0 })
        #expect(fixture.loader.started.isEmpty && fixture.manager.runningTasks.isEmpty)
        other.cancel()
        #expect(await thrownError { try await other.data }?.code == .cancelled)
        fixture.manager.isSuspended = false
        #expect(await eventually { fixture.loader.started == [url] })
        fixture.loader.send(Data(), for: url, received: 7, expected: 70)
        #expect(await eventually { progress.all == [7] })
        fixture.manager.cancelAll()
        #expect(await thrownError { try await task.data }?.code == .cancelled)
        #expect(await eventually { fixture.loader.runningCount == 0 })
    }

    @Test("Loads of bytes and images that end, fail and are cancelled at any time each complete once")
    func storm() async {
        let fixture = ManagerFixture()
        for number in 0..<20 where number % 3 > 0 { answer(fixture, "\(number)") }
        let completions = EventLog<Int>()
        let loads = (0..<400).map { number -> @Sendable () -> Void in
            let url = fixture.url("\(number % 20)")
            guard number.isMultiple(of: 2) else {
                let task = fixture.manager.load(url, on: InlineDispatcher()) { _ in completions.add(number) }
                return { task.cancel() }
            }
            let task = fixture.manager.loadData(url, on: InlineDispatcher()) { _ in completions.add(number) }
            return { task.cancel() }
        }
        for (number, cancel) in loads.enumerated() where number % 5 == 0 { cancel() }
        #expect(await eventually { completions.all.count >= 400 && fixture.manager.activeCounts == (0, 0) })
        #expect(completions.all.sorted() == Array(0..<400))
    }
}
