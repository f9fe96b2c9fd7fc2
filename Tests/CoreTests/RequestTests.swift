import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Requests: keys, fallback URLs and the hooks of the app")
struct RequestTests {
    private let small = PixelSize(width: 8, height: 8)
    private let large = PixelSize(width: 80, height: 60)

    private func picture(_ size: PixelSize) -> Data { TestImage.solid(0x123456, size: size) }

    @Test(
        "A cache-key filter leaves signatures out of the key",
        arguments: [
            ("http://h/a.jpg?X-Amz-Signature=1&w=2&X-Amz-Date=3", "http://h/a.jpg?w=2"),
            ("http://h/a.jpg?sig=1", "http://h/a.jpg"), ("http://h/a.jpg?w=2", nil), ("http://h/a.jpg", nil),
        ]
    )
    func filters(url: String, key: String?) throws {
        let url = try #require(URL(string: url))
        let fixture = ManagerFixture { $0.cacheKeyFilter = .withoutQueryItems() }
        #expect(fixture.manager.cache.path(for: url) == fixture.disk?.path(for: key ?? url.absoluteString))
    }

    @Test("URLs with one key share the fetch and the image, in memory and on disk")
    func oneName() async throws {
        let fixture = ManagerFixture { $0.cacheKeyFilter = .withoutQuery }
        for name in ["a?1", "a?2", "a?3"] { fixture.loader.answer(fixture.url(name), with: picture(small)) }
        let first = try await fixture.manager.response(for: ImageRequest(url: fixture.url("a?1")))
        let second = try await fixture.manager.response(for: ImageRequest(url: fixture.url("a?2")))
        #expect(second.source == .memory && second.image == first.image)
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: fixture.url("a?9"))) == first.image)
        fixture.manager.cache.removeAllFromMemory()
        #expect(try await fixture.manager.response(for: ImageRequest(url: fixture.url("a?3"))).source == .disk)
        #expect(fixture.loader.requests.count == 1)
        await fixture.manager.cache.remove(fixture.url("a?4"))
        #expect(try await fixture.manager.response(for: ImageRequest(url: fixture.url("a?3"))).source == .loader)
        // A request can have its own key.
        var request = ImageRequest(url: fixture.url("a?1"))
        request.cacheKey = "mine"
        #expect(try await fixture.manager.response(for: request).source == .loader)
    }

    @Test("A request processor changes requests before they start")
    func processor() async throws {
        let fixture = ManagerFixture { parts in
            parts.requestProcessor = { request in
                var request = request
                request.url = URL(string: "http://host/other")!
                return request
            }
        }
        fixture.loader.answer(fixture.url("other"), with: picture(small))
        let response = try await fixture.manager.response(for: ImageRequest(url: fixture.url("a")))
        #expect(response.image.pixelSize == small)
        #expect(fixture.manager.cachedImage(for: ImageRequest(url: fixture.url("b"))) != nil)
    }

    @Test("The app decides which URLs are loaded")
    func policies() async throws {
        let fixture = ManagerFixture { parts in
            parts.shouldLoad = { !$0.path().hasSuffix("secret") }
        }
        let error = await thrownError {
            try await fixture.manager.image(for: fixture.url("secret"))
        }
        #expect(error?.code == .invalidRequest && fixture.loader.requests.isEmpty)
    }

    @Test("When a URL fails, the next fallback is tried; the error is that of the last one")
    func fallbacks() async throws {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("c"), with: picture(small))
        var request = ImageRequest(url: fixture.url("a"))
        request.fallbackURLs = [fixture.url("b"), fixture.url("c"), fixture.url("d")]
        let response = try await fixture.manager.response(for: request)
        #expect(response.image.pixelSize == small && response.url == fixture.url("c"))
        #expect(fixture.loader.started.map { $0.lastPathComponent } == ["a", "b", "c"])
        request.fallbackURLs = [fixture.url("b")]
        let error = await thrownError { try await fixture.manager.response(for: request) }
        #expect(error?.url == fixture.url("b") && EventLog<Int>.poll { fixture.isIdle })
    }

    @Test("Cancellation and changes of priority reach the fallback")
    func fallbackCancelled() {
        let fixture = ManagerFixture(holdsResponses: true)
        var request = ImageRequest(url: fixture.url("a"))
        request.fallbackURLs = [fixture.url("b")]
        let task = fixture.load(request) { fixture.outcomes.add(.init($0)) }
        #expect(EventLog<Int>.poll { fixture.loader.started.count == 1 && fixture.loader.runningCount == 1 })
        fixture.loader.finish(fixture.url("a"))
        #expect(EventLog<Int>.poll { fixture.loader.priority(of: fixture.url("b")) == .normal })
        task.priority = .high
        #expect(EventLog<Int>.poll { fixture.loader.priority(of: fixture.url("b")) == .high })
        task.cancel()
        #expect(fixture.outcomes.wait { $0 == [.failure(.cancelled)] })
        #expect(EventLog<Int>.poll { fixture.loader.cancelled == [fixture.url("b")] && fixture.isIdle })
    }

    @Test("On a metered network the low-data URL is loaded instead")
    func lowData() async throws {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: picture(large))
        fixture.loader.answer(fixture.url("low"), with: picture(small))
        var request = ImageRequest(url: fixture.url("a"))
        request.lowDataURL = fixture.url("low")
        fixture.network.status = ImageNetworkStatus(isMetered: true)
        #expect(try await fixture.manager.response(for: request).image.pixelSize == small)
        fixture.network.status = ImageNetworkStatus()
        #expect(try await fixture.manager.response(for: request).image.pixelSize == large)
    }

    @Test("The request for a dark style has the dark URL and a key of its own")
    func dark() {
        let fixture = ManagerFixture()
        var request = ImageRequest(url: fixture.url("a"), priority: .high)
        #expect(request.inStyle(isDark: true) == request)
        request.darkURL = fixture.url("dark")
        request.previewURL = fixture.url("small")
        request.variants = ImageVariants(url: fixture.url("a"), widths: [100: fixture.url("100")])
        #expect(request.inStyle(isDark: false) == request)
        #expect(request.inStyle(isDark: true) == ImageRequest(url: fixture.url("dark"), priority: .high))
        request.cacheKey = "logo"
        #expect(request.inStyle(isDark: true).sourceKey == "dark logo")
    }

    @Test("The preview is shown until the image is loaded, and not after it")
    func preview() {
        let fixture = ManagerFixture(holdsResponses: true)
        fixture.loader.answer(fixture.url("a"), with: picture(large))
        fixture.loader.answer(fixture.url("small"), with: picture(small))
        var request = ImageRequest(url: fixture.url("a"))
        request.previewURL = fixture.url("small")
        let shown = EventLog<String>()
        func load() {
            fixture.load(request, partial: { shown.add("partial \($0.pixelSize) \($0.isPartial)") }) { result in
                shown.add("\((try? result.get().image.pixelSize) ?? PixelSize(width: 0, height: 0))")
            }
        }
        load()
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 2 })
        fixture.loader.finish(fixture.url("small"))
        #expect(shown.wait { $0.count == 1 })
        fixture.loader.finish(fixture.url("a"))
        #expect(shown.wait { $0 == ["partial 8x8 true", "80x60"] })
        // A preview that arrives after the image is dropped.
        fixture.manager.cache.removeAllFromMemory()
        request.cachePolicy = .reload
        load()
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 2 })
        fixture.loader.finish(fixture.url("a"))
        #expect(shown.wait { $0.count == 3 })
        #expect(EventLog<Int>.poll { fixture.isIdle } && shown.all.last == "80x60")
    }

    @Test(
        "A preview replaces neither the cached image that a refresh shows, nor a part of the image itself",
        arguments: [CacheTiers.memory, .disk]
    )
    func latePreview(tier: CacheTiers) {
        // Given an image in a cache, whose server is asked again
        let fixture = ManagerFixture(holdsResponses: true)
        fixture.loader.answer(fixture.url("a"), with: picture(large))
        fixture.loader.answer(fixture.url("small"), with: picture(small))
        var request = ImageRequest(url: fixture.url("a"))
        let ends = EventLog<Bool>()
        fixture.load(request) { _ in ends.add(true) }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.finish(fixture.url("a"))
        #expect(ends.wait { $0.count == 1 } && EventLog<Int>.poll { fixture.isQuiet })
        if tier == .disk { fixture.manager.cache.removeAllFromMemory() }
        request.cachePolicy = .refresh
        request.previewURL = fixture.url("small")
        let shown = EventLog<PixelSize>()
        fixture.load(request, partial: { shown.add($0.pixelSize) }) { _ in ends.add(true) }
        #expect(shown.wait { $0 == [large] })
        // When the preview arrives, which is not asked for when an image is there at once
        let count = tier == .disk ? 2 : 1
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == count })
        if tier == .disk { fixture.loader.finish(fixture.url("small")) }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.finish(fixture.url("a"))
        // Then the image stays
        #expect(ends.wait { $0.count == 2 } && EventLog<Int>.poll { fixture.isIdle })
        #expect(shown.all == [large])
    }

    @Test("A progressive load shows a smaller image from memory at once")
    func smaller() async throws {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: picture(large))
        let box = DecodeSize.contain(PixelSize(width: 10, height: 10))
        _ = try await fixture.manager.response(for: ImageRequest(url: fixture.url("a"), decodeSize: box))
        var sizes: [PixelSize] = []
        let request = ImageRequest(url: fixture.url("a"), loading: .progressive)
        for await update in fixture.manager.updates(for: request) {
            switch update {
            case .partial(let image): sizes.append(image.pixelSize)
            case .finished(let result): sizes.append(try result.get().image.pixelSize)
            case .progress: break
            }
        }
        #expect(sizes == [PixelSize(width: 10, height: 8), large])
    }

    @Test("Updates arrive in order and end with the result, and leaving the loop cancels the load")
    func updates() async throws {
        let fixture = ManagerFixture(holdsResponses: true)
        fixture.loader.answer(fixture.url("a"), with: picture(small))
        let request = ImageRequest(url: fixture.url("a"))
        Thread.detachNewThread {
            _ = EventLog<Int>.poll { fixture.loader.runningCount == 1 }
            fixture.loader.send(Data(count: 5), for: request.url, received: 5, expected: 9)
            fixture.loader.finish(request.url)
        }
        var seen: [String] = []
        for await update in fixture.manager.updates(for: request) {
            switch update {
            case .progress(let received, let expected): seen.append("\(received) of \(expected ?? 0)")
            case .partial: seen.append("partial")
            case .finished(let result): seen.append("\(try result.get().image.pixelSize)")
            }
        }
        #expect(seen == ["5 of 9", "8x8"])
        let task = Task {
            for await _ in fixture.manager.updates(for: ImageRequest(url: fixture.url("b"))) {}
        }
        #expect(await fixture.polled { fixture.loader.started.contains(fixture.url("b")) })
        task.cancel()
        #expect(await fixture.polled { fixture.loader.cancelled.contains(fixture.url("b")) })
    }

    @Test(
        "The scale in a name is that of the URL, also when the URL is changed, unless a key or the app says otherwise"
    )
    func scaleOfURL() throws {
        let names = ["hero@2x.png", "hero.png", "hero@3x.png"]
        let urls = try names.map { try #require(URL(string: "http://host/\($0)")) }
        var request = ImageRequest(url: urls[0])
        for (url, scale) in zip(urls, [2.0, 1, 3]) {
            request.url = url
            #expect(request.scale == scale && request == ImageRequest(url: url))
        }
        request.cacheKey = "photo@2x"
        request.url = urls[1]
        #expect(request.scale == 2)
        request.cacheKey = nil
        #expect(request.scale == 1)
        request.scale = 1.5
        request.url = urls[0]
        #expect(request.scale == 1.5)
    }

    @Test("An observer sees every step of a load")
    func observing() async throws {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: picture(large))
        let steps = EventLog<String>()
        var observation: ObservationToken? = fixture.manager.observe { step in
            let name = "\(step.kind)"
            steps.add("\(step.url.lastPathComponent) \(name.prefix { $0 != "(" })")
        }
        let request = ImageRequest(url: fixture.url("a"), transformer: .grayscale)
        _ = try await fixture.manager.response(for: request)
        #expect(
            steps.all == [
                "a requested", "a memoryMiss", "a diskMiss", "a fetchStarted", "a fetched", "a decoded", "a stored",
                "a transformed", "a awaitingDelivery", "a delivered",
            ]
        )
        _ = try await fixture.manager.response(for: request)
        #expect(steps.all.suffix(3) == ["a requested", "a memoryHit", "a delivered"])
        _ = try? await fixture.manager.image(for: fixture.url("none"))
        #expect(steps.all.last == "none failed")
        #expect(observation != nil)
        observation = nil
        let count = steps.all.count
        _ = try await fixture.manager.response(for: request)
        #expect(steps.all.count == count)
    }

    @Test("The response carries the bytes on request, whatever the source")
    func data() async throws {
        let fixture = ManagerFixture()
        let bytes = picture(large)
        fixture.loader.answer(fixture.url("a"), with: bytes)
        var request = ImageRequest(url: fixture.url("a"), decodeSize: .contain(PixelSize(width: 20, height: 20)))
        #expect(try await fixture.manager.response(for: request).data == nil)
        request.includesData = true
        for (source, empties) in [(LoadSource.memory, false), (.disk, true)] {
            #expect(await fixture.polled { fixture.isQuiet })
            if empties { fixture.manager.cache.removeAllFromMemory() }
            let response = try await fixture.manager.response(for: request)
            #expect(response.source == source && response.data == bytes)
        }
        request.cachePolicy = .reload
        #expect(try await fixture.manager.response(for: request).data == bytes)
    }

    @Test("Bytes that no cache keeps are loaded again, and an image without them comes with the reason")
    func unkeptData() async throws {
        // Given an image that only the memory cache has
        let fixture = ManagerFixture()
        var metadata = ResponseMetadata()
        metadata.cacheControl = "no-store"
        let loaded = LoaderResult(data: picture(large), metadata: metadata)
        fixture.loader.answer(fixture.url("a"), with: .success(loaded))
        var request = ImageRequest(url: fixture.url("a"))
        _ = try await fixture.manager.response(for: request)
        // When its bytes are wanted, too
        request.includesData = true
        let response = try await fixture.manager.response(for: request)
        // Then
        #expect(response.data == picture(large) && response.image.pixelSize == large)
        #expect(fixture.loader.requests.count == 2 && fixture.manager.cachedImage(for: request) != nil)
        fixture.loader.answer(
            fixture.url("a"),
            with: .failure(ImageError(.connectionFailed, url: nil, reason: "r", remedy: "r"))
        )
        let withoutData = try await fixture.manager.response(for: request)
        #expect(withoutData.source == .memory && withoutData.data == nil)
        #expect(withoutData.refreshError?.code == .connectionFailed)
        request.cachePolicy = .cachedOnly
        let cachedOnly = try await fixture.manager.response(for: request)
        #expect(cachedOnly.source == .memory && cachedOnly.data == nil && cachedOnly.refreshError == nil)
        #expect(fixture.loader.requests.count == 3)
    }

    @Test("Bytes are loaded again when only a rendition is cached, also one that the server has confirmed")
    func unkeptDataOfRendition() async throws {
        let fixture = ManagerFixture()
        var metadata = ResponseMetadata()
        (metadata.etag, metadata.cacheControl) = ("1", "max-age=60")
        metadata.responseTime = fixture.clock.now
        var loaded = LoaderResult(data: picture(large), metadata: metadata)
        fixture.loader.answer(fixture.url("a"), with: .success(loaded))
        var request = ImageRequest(url: fixture.url("a"), decodeSize: .contain(PixelSize(width: 20, height: 20)))
        request.cacheAccess = CacheAccess(writes: .renditions, awaitsWrites: true)
        _ = try await fixture.manager.response(for: request)
        request.includesData = true
        #expect(try await fixture.manager.response(for: request).data == picture(large))
        #expect(fixture.loader.requests.count == 2)
        fixture.clock.advance(by: .seconds(61))
        (loaded.isNotModified, loaded.data) = (true, Data())
        fixture.loader.answer(fixture.url("a"), with: .success(loaded))
        // The loader of this test answers 304 whatever it is asked, so the bytes are not to be had.
        let confirmed = try await fixture.manager.response(for: request)
        #expect(confirmed.source == .revalidated && confirmed.refreshError?.code == .badImageData)
        #expect(fixture.loader.requests.count == 4 && fixture.loader.requests.last?.validators == nil)
    }

    @Test(
        "A load that writes neither to memory nor originals leaves the image in memory alone",
        arguments: [CacheTiers(), .renditions]
    )
    func untouchedMemory(writes: CacheTiers) async throws {
        for policy in [ImageRequest.CachePolicy.reload, .standard] {
            let fixture = ManagerFixture()
            fixture.loader.answer(fixture.url("a"), with: picture(large))
            // Given an image in memory, and its original on disk
            let shown = ImageRequest(url: fixture.url("a"))
            _ = try await fixture.manager.response(for: shown)
            // When it is loaded past the caches
            var request = ImageRequest(url: fixture.url("a"), cachePolicy: policy)
            request.cacheAccess = CacheAccess(reads: [], writes: writes, awaitsWrites: true)
            _ = try await fixture.manager.response(for: request)
            // Then it is still there
            #expect(fixture.loader.requests.count == 2 && fixture.manager.cachedImage(for: shown) != nil)
        }
    }

    @Test("A load past the caches that replaces an original removes its images from memory, which may be older")
    func outdatedMemory() async throws {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: picture(large))
        let shown = ImageRequest(url: fixture.url("a"))
        _ = try await fixture.manager.response(for: shown)
        fixture.loader.answer(fixture.url("a"), with: picture(small))
        var request = ImageRequest(url: fixture.url("a"), cachePolicy: .reload)
        request.cacheAccess.writes = .originals
        _ = try await fixture.manager.response(for: request)
        #expect(fixture.manager.cachedImage(for: shown) == nil)
        #expect(try await fixture.manager.response(for: shown).image.pixelSize == small)
    }

    @Test("Completions are called where the caller asks for them")
    func dispatcher() {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: picture(small))
        let dispatcher = ManualDispatcher()
        fixture.manager.load(ImageRequest(url: fixture.url("a")), on: dispatcher) { fixture.outcomes.add(.init($0)) }
        #expect(EventLog<Int>.poll { fixture.isIdle && dispatcher.waitingCount == 1 } && fixture.outcomes.all.isEmpty)
        dispatcher.run()
        #expect(fixture.outcomes.all == [.image(small, .loader)])
    }
}
