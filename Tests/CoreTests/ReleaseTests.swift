import FoundationEssentials
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

    @Test("A loader that is removed may use the registry")
    func loaders() {
        let loaders = ImageManager.testing(FakeLoader()).loaders
        let url = URL(string: "http://host/a")!
        func add() -> LoaderRegistry.Registration {
            loaders.add(FarewellLoader(Farewell { log.add("found \(loaders.loader(for: url) != nil)") }))
        }
        loaders.remove(add())
        #expect(log.all == ["found true"])
    }

    @Test("A handler that is replaced may use the prefetcher")
    func prefetcher() {
        let prefetcher = ImagePrefetcher(manager: ManagerFixture().manager)
        let farewell = { [log] in Farewell { [weak prefetcher] in log.add("paused \(prefetcher?.isPaused == true)") } }
        prefetcher.onFinish = { [farewell = farewell()] _, _ in withExtendedLifetime(farewell) {} }
        prefetcher.onFinish = nil
        #expect(log.all == ["paused false"])
    }

    @MainActor
    @Test("The handlers of a batch may cancel it")
    func batch() {
        let prefetcher = ImagePrefetcher(manager: ManagerFixture(holdsResponses: true).manager)
        prefetcher.isPaused = true
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

    @Test("A cache that leaves a group may use the group")
    func group() {
        let group = DataCacheGroup([])
        func add() {
            group.caches = [
                FarewellCache(Farewell { [weak group, log] in log.add("caches \(group?.caches.count ?? -1)") })
            ]
        }
        add()
        group.caches = []
        #expect(log.all == ["caches 0"])
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
            downloader.configuration.headerFilter = { _, headers in withExtendedLifetime(farewell) { headers } }
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
            request.userInfo["farewell"] = Farewell { log.add("jobs \(fixture.manager.activeCounts.jobs)") }
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
        #expect(log.all.isEmpty)
        second.cancel()
        #expect(EventLog<Int>.poll { log.all == ["jobs 0"] && fixture.isIdle })
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

private final class FarewellCache: DataCaching {
    private let farewell: Farewell

    init(_ farewell: Farewell) {
        self.farewell = farewell
    }

    func entry(for key: String) -> CacheEntry? { nil }
    func store(_ entry: CacheEntry) {}
    func remove(_ key: String) {}
    func removeAll() {}
    var usage: CacheUsage { CacheUsage() }
}

private final class FarewellLoader: DataLoading {
    private let farewell: Farewell

    init(_ farewell: Farewell) {
        self.farewell = farewell
    }

    func canLoad(_ url: URL) -> Bool { true }

    func load(_ request: LoaderRequest, onEvent: @escaping @Sendable (LoaderEvent) -> Void) -> any FetchOperation {
        fatalError("Nothing is loaded")
    }
}
