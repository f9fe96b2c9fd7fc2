import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Prefetching")
struct PrefetcherTests {
    private static let picture = TestImage.solid(1, size: PixelSize(width: 8, height: 8))

    private func urls(_ fixture: ManagerFixture, _ count: Int) -> [URL] {
        (0..<count).map { index in
            let url = fixture.url("\(index)")
            fixture.loader.answer(url, with: Self.picture)
            return url
        }
    }

    @Test("All images are loaded into the caches; progress is reported for each, completion once")
    func counts() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        var urls = urls(fixture, 10)
        urls.append(fixture.url("missing"))
        urls.append(urls[0])
        let (results, progress) = (EventLog<PrefetchResult>(), EventLog<Int>())
        ImagePrefetcher(manager: fixture.manager).prefetch(urls) { finished, total in
            progress.add(finished * 100 + total)
        } completion: {
            results.add($0)
        }
        #expect(results.wait { $0.count == 1 })
        #expect(results.all == [PrefetchResult(requestedCount: 12, loadedCount: 11, failedCount: 1)])
        #expect(Set(progress.all) == Set((1...12).map { $0 * 100 + 12 }))
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.disk?.usage.count == 10 })
    }

    @Test("An image that is refreshed in advance counts once, whether it has changed or not", arguments: [false, true])
    func refreshed(hasChanged: Bool) async throws {
        // Given a cached image
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        let url = fixture.url("a")
        var metadata = ResponseMetadata(contentType: "image/png")
        metadata.etag = "\"1\""
        fixture.loader.answer(url, with: .success(LoaderResult(data: Self.picture, metadata: metadata)))
        _ = try await fixture.manager.image(for: url)
        let renewed = LoaderResult(
            data: hasChanged ? TestImage.solid(2, size: PixelSize(width: 9, height: 9)) : Data(),
            metadata: metadata,
            isNotModified: !hasChanged
        )
        fixture.loader.answer(url, with: .success(renewed))
        // When it is prefetched with the policy to refresh
        let (results, progress) = (EventLog<PrefetchResult>(), EventLog<Int>())
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        prefetcher.onFinish = { _, totals in progress.add(totals.loadedCount) }
        let request = ImageRequest(url: url, cachePolicy: .refresh)
        prefetcher.prefetch([request]) { finished, _ in
            progress.add(finished)
        } completion: {
            results.add($0)
        }
        // Then the server is asked, and each handler is called once
        #expect(results.wait { $0.count == 1 })
        #expect(results.all == [PrefetchResult(requestedCount: 1, loadedCount: 1)])
        #expect(progress.all == [1, 1])
        #expect(fixture.loader.requests.count == 2)
    }

    @Test("Loads that their downloader cancels count as cancelled, and the batch ends")
    func cancelledByLoader() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        var urls = urls(fixture, 4)
        for index in 4..<8 {
            urls.append(fixture.url("\(index)"))
            fixture.loader.answer(urls[index], with: .failure(.cancelled(urls[index])))
        }
        let results = EventLog<PrefetchResult>()
        ImagePrefetcher(manager: fixture.manager).prefetch(urls) { results.add($0) }
        #expect(results.wait { $0.count == 1 })
        #expect(results.all == [PrefetchResult(requestedCount: 8, loadedCount: 4, cancelledCount: 4)])
    }

    @Test("Images go to memory at the size of their requests, and without a size to the disk alone")
    func sizes() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        let urls = urls(fixture, 3)
        let results = EventLog<PrefetchResult>()
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let small = DecodeSize.contain(PixelSize(width: 4, height: 4))
        prefetcher.prefetch(
            [
                ImageRequest(url: urls[0]), ImageRequest(url: urls[1], decodeSize: .original),
                ImageRequest(url: urls[2], decodeSize: small),
            ]
        ) { results.add($0) }
        #expect(results.wait { $0 == [PrefetchResult(requestedCount: 3, loadedCount: 3)] })
        #expect(EventLog<Int>.poll { fixture.isQuiet && fixture.disk?.usage.count == 3 })
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: urls[0])) == nil)
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: urls[1])) != nil)
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: urls[2], decodeSize: small)) != nil)
        // Without a disk cache, memory is all there is.
        let other = ManagerFixture(dispatcher: MainQueueDispatcher(), hasDisk: false)
        let url = self.urls(other, 1)[0]
        ImagePrefetcher(manager: other.manager).prefetch([url]) { results.add($0) }
        #expect(results.wait { $0.count == 2 })
        #expect(other.manager.cachedImage(for: ImageRequest(url: url)) != nil)
    }

    @Test("A prefetcher reports its totals over all batches after each image")
    func totals() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        let urls = urls(fixture, 6)
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let seen = EventLog<Int>()
        prefetcher.onFinish = { url, totals in
            seen.add(totals.finishedCount)
            #expect(totals.requestedCount >= totals.finishedCount && url.host() == "host")
        }
        prefetcher.prefetch(Array(urls.prefix(3)))
        prefetcher.prefetch(Array(urls.suffix(3)) + [fixture.url("missing")])
        prefetcher.isSuspended = true
        prefetcher.prefetch([urls[0], urls[1]]).cancel()
        prefetcher.isSuspended = false
        #expect(seen.wait { $0.count == 9 })
        #expect(Set(seen.all) == Set(1...9))
        let expected = PrefetchResult(requestedCount: 9, loadedCount: 6, failedCount: 1, cancelledCount: 2)
        #expect(EventLog<Int>.poll { prefetcher.totals == expected })
    }

    @Test(
        "What is prefetched to the disk alone is not transformed",
        arguments: [PrefetchDestination.disk, .automatic]
    )
    func transformers(destination: PrefetchDestination) async throws {
        // Given a transformer that needs more than the few pixels that are decoded for that
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        let url = fixture.url("a")
        fixture.loader.answer(url, with: TestImage.solid(1, size: PixelSize(width: 80, height: 60)))
        let transformer = ImageTransformer.custom(key: "large") { $0.pixelSize.width >= 80 ? $0 : nil }
        let request = ImageRequest(url: url, transformer: transformer)
        // When it is prefetched without a size
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let task = prefetcher.prefetch([request], to: destination)
        #expect(await eventually { task.isFinished })
        // Then the load has succeeded, and its file serves the next one
        #expect(prefetcher.totals.loadedCount == 1 && prefetcher.totals.failedCount == 0)
        #expect(try await fixture.manager.response(for: request).source == .disk)
    }

    @Test("With destination .disk nothing is kept in memory")
    func toDisk() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        let urls = urls(fixture, 4)
        let results = EventLog<PrefetchResult>()
        ImagePrefetcher(manager: fixture.manager).prefetch(urls, to: .disk) { results.add($0) }
        #expect(results.wait { $0 == [PrefetchResult(requestedCount: 4, loadedCount: 4)] })
        #expect(EventLog<Int>.poll { fixture.isQuiet })
        #expect(fixture.memory.totalCost == 0 && fixture.disk?.usage.count == 4 && fixture.results.usage.count == 0)
        fixture.load("0")
        #expect(fixture.outcomes.wait { $0 == [.image(PixelSize(width: 8, height: 8), .disk)] })
    }

    @Test("URLs load at the lowest priority, requests at their own; callbacks come on the main actor")
    func sources() {
        let fixture = ManagerFixture(holdsResponses: true, dispatcher: MainQueueDispatcher())
        let urls = urls(fixture, 2)
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let results = EventLog<PrefetchResult>()
        prefetcher.prefetch(urls.prefix(1)) { result in
            MainActor.preconditionIsolated()
            results.add(result)
        }
        prefetcher.prefetch(Set([ImageRequest(url: urls[1], priority: .high)]))
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 2 })
        #expect(fixture.loader.priority(of: urls[0]) == .veryLow && fixture.loader.priority(of: urls[1]) == .high)
        for url in urls { fixture.loader.finish(url) }
        #expect(results.wait { $0 == [PrefetchResult(requestedCount: 1, loadedCount: 1)] })
    }

    @Test("The number of concurrent loads can be changed while they run")
    func widened() {
        let fixture = ManagerFixture(holdsResponses: true, dispatcher: MainQueueDispatcher())
        let prefetcher = ImagePrefetcher(manager: fixture.manager, maximumConcurrentCount: 1)
        prefetcher.prefetch(urls(fixture, 10))
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        prefetcher.maximumConcurrentCount = 5
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 5 })
        prefetcher.cancelAll()
        #expect(EventLog<Int>.poll { fixture.isIdle })
    }

    @Test("Three loads run at a time, at the lowest priority")
    func window() {
        let fixture = ManagerFixture(holdsResponses: true, dispatcher: MainQueueDispatcher())
        let urls = urls(fixture, 10)
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let task = prefetcher.prefetch(urls)
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 3 })
        #expect(fixture.loader.priority(of: urls[0]) == .veryLow)
        for count in 1...10 {
            fixture.loader.finish(urls[count - 1])
            #expect(EventLog<Int>.poll { fixture.loader.requests.count == min(10, count + 3) })
        }
        #expect(EventLog<Int>.poll { task.isFinished })
    }

    @Test("A change of the priority applies to loads under way, to those that wait and to later batches")
    func priority() {
        // Given a batch of which three images load
        let fixture = ManagerFixture(holdsResponses: true, dispatcher: MainQueueDispatcher())
        let urls = urls(fixture, 6)
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let requests = urls.prefix(5).map { ImageRequest(url: $0, priority: .low) }
        let task = prefetcher.prefetch(requests)
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 3 })
        func have(_ priority: ImagePriority, _ range: Range<Int>) -> Bool {
            EventLog<Int>.poll { range.allSatisfy { fixture.loader.priority(of: urls[$0]) == priority } }
        }
        #expect(have(.low, 0..<3))
        // When the prefetcher becomes urgent
        prefetcher.priority = .high
        // Then so do its loads, and those that start later
        #expect(have(.high, 0..<3))
        fixture.loader.finish(urls[0])
        #expect(EventLog<Int>.poll { fixture.loader.requests.count == 4 } && have(.high, 1..<4))
        // The priority of a batch goes before that of its prefetcher, and without either it is that of the request.
        task.priority = .veryLow
        #expect(have(.veryLow, 1..<4))
        prefetcher.priority = .normal
        #expect(have(.veryLow, 1..<4))
        task.priority = nil
        #expect(have(.normal, 1..<4))
        prefetcher.priority = nil
        #expect(have(.low, 1..<4))
        // When all of its loads have started, the batch still follows.
        fixture.loader.finish(urls[1])
        fixture.loader.finish(urls[2])
        #expect(EventLog<Int>.poll { fixture.loader.requests.count == 5 } && have(.low, 3..<5))
        prefetcher.priority = .veryHigh
        #expect(have(.veryHigh, 3..<5))
        prefetcher.prefetch([urls[5]])
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 3 } && have(.veryHigh, 5..<6))
        prefetcher.cancelAll()
        #expect(EventLog<Int>.poll { fixture.isIdle })
    }

    @Test("Cancelling all batches ends those of which every load has started")
    func cancelledAll() {
        let fixture = ManagerFixture(holdsResponses: true, dispatcher: MainQueueDispatcher())
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let results = EventLog<PrefetchResult>()
        prefetcher.prefetch(urls(fixture, 2)) { results.add($0) }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 2 })
        prefetcher.cancelAll()
        #expect(results.wait { $0 == [PrefetchResult(requestedCount: 2, cancelledCount: 2)] })
        #expect(EventLog<Int>.poll { fixture.isIdle })
    }

    @Test("A cancelled batch reports the right counts, and loads shared with other tasks continue")
    func cancelled() {
        let fixture = ManagerFixture(holdsResponses: true, dispatcher: MainQueueDispatcher())
        let urls = urls(fixture, 10)
        let results = EventLog<PrefetchResult>()
        let task = ImagePrefetcher(manager: fixture.manager).prefetch(urls) { results.add($0) }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 3 })
        fixture.load("0")
        fixture.loader.finish(urls[1])
        #expect(EventLog<Int>.poll { fixture.loader.requests.count == 4 })
        task.cancel()
        #expect(results.wait { $0.count == 1 })
        #expect(results.all == [PrefetchResult(requestedCount: 10, loadedCount: 1, cancelledCount: 9)])
        fixture.loader.finish(urls[0])
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(EventLog<Int>.poll { fixture.isIdle })
    }

    @Test("An empty batch ends at once, and a thousand memory hits need no deep stack")
    func cached() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        let results = EventLog<PrefetchResult>()
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        prefetcher.prefetch([URL]()) { results.add($0) }
        #expect(results.wait { $0 == [PrefetchResult()] })
        let url = urls(fixture, 1)[0]
        prefetcher.prefetch([url]) { results.add($0) }
        #expect(results.wait { $0.count == 2 })
        // Each takes long under ThreadSanitizer.
        let count = getenv("THREAD_SANITIZER") == nil ? 20_000 : 2_000
        prefetcher.prefetch([URL](repeating: url, count: count)) { results.add($0) }
        #expect(results.wait { $0.count == 3 })
        #expect(results.all.last?.loadedCount == count && fixture.loader.requests.count == 1)
    }

    @Test(
        "Prefetching pauses offline, on a metered network and in power-saver mode, and resumes afterwards",
        arguments: [
            ImageNetworkStatus(isAvailable: false), ImageNetworkStatus(isMetered: true),
            ImageNetworkStatus(isPowerSaving: true),
        ]
    )
    func sparing(status: ImageNetworkStatus) {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        fixture.network.status = status
        let results = EventLog<PrefetchResult>()
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        let urls = urls(fixture, 5)
        prefetcher.prefetch(urls) { results.add($0) }
        fixture.settle()
        #expect(fixture.loader.requests.isEmpty)
        if status.isMetered {
            let eager = ImagePrefetcher(manager: fixture.manager, ignoresNetworkStatus: true)
            eager.prefetch([fixture.url("other")])
            #expect(EventLog<Int>.poll { fixture.loader.requests.count == 1 })
        }
        fixture.network.status = ImageNetworkStatus()
        #expect(results.wait { $0.count == 1 })
        #expect(results.all[0].loadedCount == 5)
    }

    @Test("A prefetcher that nobody keeps goes on when the network is back, and is released then")
    func released() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        fixture.network.status = ImageNetworkStatus(isAvailable: false)
        let results = EventLog<PrefetchResult>()
        var prefetcher: ImagePrefetcher? = ImagePrefetcher(manager: fixture.manager)
        weak let known = prefetcher
        let tasks = (0..<2).map { _ in prefetcher?.prefetch(urls(fixture, 5)) { results.add($0) } }
        prefetcher = nil
        tasks[1]?.cancel()
        fixture.network.status = ImageNetworkStatus()
        #expect(results.wait { $0.count == 2 })
        #expect(results.all.map(\.loadedCount).sorted() == [0, 5])
        // The app may keep the handles.
        #expect(EventLog<Int>.poll { known == nil })
        withExtendedLifetime(tasks) {}
    }

    @Test("A prefetcher whose batches are cancelled while they wait is released")
    func releasedWhileConstrained() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        fixture.network.status = ImageNetworkStatus(isAvailable: false)
        var prefetcher: ImagePrefetcher? = ImagePrefetcher(manager: fixture.manager)
        weak let known = prefetcher
        let task = prefetcher?.prefetch(urls(fixture, 5))
        prefetcher = nil
        #expect(known != nil)
        task?.cancel()
        #expect(EventLog<Int>.poll { known == nil })
    }

    @Test("A prefetcher that is released while the app has paused it cancels its batches")
    func releasedWhilePaused() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        let results = EventLog<PrefetchResult>()
        var prefetcher: ImagePrefetcher? = ImagePrefetcher(manager: fixture.manager)
        weak let known = prefetcher
        prefetcher?.isSuspended = true
        prefetcher?.prefetch(urls(fixture, 5)) { results.add($0) }
        prefetcher = nil
        #expect(results.wait { $0.count == 1 })
        #expect(known == nil && results.all[0].cancelledCount == 5 && fixture.loader.requests.isEmpty)
    }

    @Test("A paused prefetcher starts no load")
    func paused() {
        let fixture = ManagerFixture(dispatcher: MainQueueDispatcher())
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        prefetcher.isSuspended = true
        let task = prefetcher.prefetch(urls(fixture, 5))
        fixture.settle()
        #expect(fixture.loader.requests.isEmpty && !task.isFinished)
        prefetcher.isSuspended = false
        #expect(EventLog<Int>.poll { task.isFinished })
    }
}
