import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Objects and closures of an app may do anything when they are released, so the library releases them with no lock held.
/// Otherwise these tests end in a recursive lock.
@Suite("The release of what an app hands over")
struct ReleaseTests {
    private let log = EventLog<String>()

    @Test("A handler that is removed may use the observers")
    func observers() {
        let observers = Observers<Int>()
        let other = observers.add { log.add("event \($0)") }
        observers.add { [farewell = Farewell { observers.notify(1) }] _ in withExtendedLifetime(farewell) {} }.cancel()
        #expect(log.all == ["event 1"])
        other.cancel()
    }

    @Test("Work that is cancelled may use the queue")
    func work() {
        let queue = WorkQueue(name: "test", threadCount: 1)
        let gate = Gate()
        gate.close()
        queue.submit { gate.wait() }
        let farewell = { [log] in Farewell { log.add("pending \(queue.pendingCount)") } }
        let ticket = queue.submit { [farewell = farewell()] in withExtendedLifetime(farewell) {} }
        #expect(queue.cancel(ticket))
        gate.open()
        #expect(log.all == ["pending 1"])
    }

    @Test("A handler that is replaced may use the prefetcher")
    func prefetcher() {
        let prefetcher = ImagePrefetcher(manager: ManagerFixture().manager)
        let farewell = { [log] in Farewell { [weak prefetcher] in log.add("\(prefetcher?.isSuspended == true)") } }
        prefetcher.onFinish = { [farewell = farewell()] _, _ in withExtendedLifetime(farewell) {} }
        prefetcher.onFinish = nil
        #expect(log.all == ["false"])
    }

    @Test("The progress handler of a load of bytes may use its task", arguments: [false, true])
    func data(isCancelled: Bool) {
        let fixture = ManagerFixture(holdsResponses: true)
        let task = Mutex<DataTask?>(nil)
        func start() {
            let farewell = Farewell { [log] in log.add("priority \(task.withLock { $0 }?.priority ?? .low)") }
            let new = fixture.manager.loadData(
                fixture.url("a"),
                on: InlineDispatcher(),
                progress: { [farewell] _, _ in withExtendedLifetime(farewell) {} },
                completion: { _ in }
            )
            task.withLock { $0 = new }
        }
        start()
        fixture.settle()
        if isCancelled {
            task.withLock { $0 }?.cancel()
        } else {
            #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
            fixture.loader.answer(fixture.url("a"), with: Data([1]))
            fixture.loader.finish(fixture.url("a"))
        }
        #expect(EventLog<Int>.poll { log.all == ["priority \(ImagePriority.normal)"] && fixture.isIdle })
    }

    @MainActor
    @Test("The handlers of a batch may cancel it")
    func batch() {
        let prefetcher = ImagePrefetcher(manager: ManagerFixture(holdsResponses: true).manager)
        prefetcher.isSuspended = true
        func start() {
            let farewell = Farewell { [weak prefetcher, log] in
                prefetcher?.cancelAll()
                log.add("cancelled")
            }
            prefetcher.prefetch(
                [URL(string: "http://host/a")!],
                progress: { [farewell] _, _ in withExtendedLifetime(farewell) {} },
                completion: { _ in }
            )
        }
        start()
        prefetcher.cancelAll()
        #expect(EventLog<Int>.poll { log.all == ["cancelled"] })
    }

    @Test("Closures of settings that are replaced may use the downloader")
    func downloader() {
        let downloader = ImageDownloader()
        func change() {
            let farewell = Farewell { [weak downloader, log] in
                log.add(
                    "suspended \(downloader?.isSuspended == true), \(downloader?.configuration.maximumRedirects ?? 0)"
                )
            }
            downloader.configuration.requestModifier = RequestModifier(key: "farewell") { request in
                withExtendedLifetime(farewell) { request }
            }
        }
        change()
        downloader.configuration = ImageDownloader.Configuration()
        #expect(log.all == ["suspended false, 10"])
    }

    @Test("The values of a request may use the manager")
    func userInfo() {
        let fixture = ManagerFixture(holdsResponses: true)
        func load() -> ImageTask {
            var request = ImageRequest(url: fixture.url("a"))
            request.userInfo["farewell"] = Farewell { log.add("fetches \(fixture.manager.activeCounts.fetches)") }
            return fixture.load(request) { _ in }
        }
        // The job and the fetch keep the request of the first task until the second one is cancelled.
        func loadTwice() -> ImageTask {
            let first = load()
            let second = fixture.load("a")
            first.cancel()
            return second
        }
        let second = loadTwice()
        fixture.settle()
        #expect(log.all.isEmpty)
        second.cancel()
        #expect(EventLog<Int>.poll { log.all == ["fetches 0"] && fixture.isIdle })
    }

    @Test("The decoder of partial images may use the manager when a load begins anew")
    func abandonedDecoder() {
        var policy = ImageRetryPolicy()
        policy.jitter = 0
        let coder = FarewellCoder()
        let fixture = ManagerFixture(holdsResponses: true, retryPolicy: policy) {
            $0.coders = CoderRegistry([coder])
        }
        coder.onRelease { [log, weak manager = fixture.manager] in
            log.add("jobs \(manager?.activeCounts.jobs ?? -1)")
        }
        let url = fixture.url("a")
        var request = ImageRequest(url: url)
        request.loading = .progressive
        let task = fixture.load(request, partial: { _ in }) { _ in }
        // Given a decoder that has got the first bytes
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        let file = TestImage.solid(0xFF0000, size: PixelSize(width: 8, height: 8))
        fixture.loader.send(file.prefix(60), for: url)
        #expect(EventLog<Int>.poll { coder.appendCount > 0 && fixture.isAtRest })
        // When the connection breaks and the load begins anew
        let error = ImageError(.connectionFailed, url: url, reason: "", remedy: "")
        fixture.loader.answer(url, with: .failure(error))
        fixture.loader.finish(url)
        #expect(EventLog<Int>.poll { fixture.clock.pendingDelays.count == 1 })
        fixture.clock.advance(by: .seconds(30))
        // Then the decoder is released while the load goes on
        #expect(EventLog<Int>.poll { log.all == ["jobs 1"] })
        #expect(fixture.loader.requests.count == 2)
        task.cancel()
    }

    @Test("The decoder of partial images may use the manager when the disk has the image after all")
    func overtakenDecoder() {
        // Given a rendition on a disk that takes long to answer
        let gate = Gate()
        let store = FaultyStore { call, _ in call == "read" ? .waits { gate.wait() } : nil }
        let coder = FarewellCoder()
        let fixture = ManagerFixture(holdsResponses: true, hasDisk: false, resultStore: store) {
            $0.coders = CoderRegistry([coder])
        }
        let url = fixture.url("a")
        func load(_ size: DecodeSize) -> ImageTask {
            var request = ImageRequest(url: url, loading: .progressive, decodeSize: size)
            request.cacheAccess = .awaitingWrites
            return fixture.load(request, partial: { _ in }) { [log] in log.add("\((try? $0.get()) != nil)") }
        }
        let (small, file) = (PixelSize(width: 6, height: 6), TestImage.solid(0, size: PixelSize(width: 12, height: 12)))
        var response = ResponseMetadata()
        response.cacheControl = "max-age=1000"
        fixture.loader.answer(url, with: .success(LoaderResult(data: file, metadata: response)))
        _ = load(.contain(small))
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.finish(url)
        #expect(EventLog<Int>.poll { log.all == ["true"] && fixture.isQuiet })
        fixture.manager.cache.removeAllFromMemory()
        coder.onRelease { [log, weak manager = fixture.manager] in
            log.add("jobs \(manager?.activeCounts.jobs ?? -1)")
        }
        // When the bytes for another size arrive before the disk answers
        gate.close()
        _ = load(.contain(small))
        let other = load(.original)
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.send(file.prefix(60), for: url)
        #expect(EventLog<Int>.poll { coder.appendCount == 2 })
        gate.open()
        // Then the decoder that is no longer needed is released
        #expect(EventLog<Int>.poll { log.all.count == 3 && log.all.contains { $0.hasPrefix("jobs") } }, "\(log.all)")
        other.cancel()
    }

    @Test("A manager that is replaced may use the next one")
    func sharedManager() {
        let original = ImageManager.shared
        defer { ImageManager.shared = original }
        func replace() {
            var configuration = ImageManager.Configuration()
            configuration.diskCache = nil
            let farewell = Farewell { log.add("limit \(ImageManager.shared === original)") }
            configuration.shouldLoad = { _ in withExtendedLifetime(farewell) { true } }
            ImageManager.shared = ImageManager(configuration: configuration)
        }
        replace()
        ImageManager.shared = original
        #expect(EventLog<Int>.poll { log.all == ["limit true"] })
    }
}

/// Calls a closure when it is released.
private final class Farewell: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    deinit {
        body()
    }
}

/// A coder whose decoders of arriving files say farewell.
private final class FarewellCoder: ImageDecoding {
    private let counts = Mutex((appends: 0, farewell: {} as @Sendable () -> Void))

    var appendCount: Int { counts.withLock { $0.appends } }

    func onRelease(_ farewell: @escaping @Sendable () -> Void) {
        counts.withLock { $0.farewell = farewell }
    }

    func canDecode(_ format: ImageFormat) -> Bool { true }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try CoderRegistry.builtIn.decode(data, options: options)
    }

    func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        Decoder(self)
    }

    private final class Decoder: IncrementalImageDecoding {
        private let coder: FarewellCoder

        init(_ coder: FarewellCoder) {
            self.coder = coder
        }

        deinit {
            coder.counts.withLock { $0.farewell }()
        }

        func append(_ data: Data) throws(ImageError) { coder.counts.withLock { $0.appends += 1 } }

        func partialImage() -> WebImage? { nil }

        func finish(_ data: Data) throws(ImageError) -> WebImage {
            throw ImageError(.badImageData, url: nil, reason: "", remedy: "")
        }
    }
}
