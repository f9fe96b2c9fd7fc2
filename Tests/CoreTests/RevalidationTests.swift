import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Revalidation")
struct RevalidationTests {
    private let fixture = ManagerFixture()
    private let small = PixelSize(width: 10, height: 10)
    private let large = PixelSize(width: 20, height: 20)

    private func answer(_ name: String, _ size: PixelSize, _ cacheControl: String? = nil, etag: String = "\"1\"") {
        var metadata = ResponseMetadata(contentType: "image/png")
        metadata.cacheControl = cacheControl
        metadata.etag = etag
        metadata.responseTime = fixture.clock.now
        let data = TestImage.solid(0xFF0000, size: size)
        fixture.loader.answer(fixture.url(name), with: .success(LoaderResult(data: data, metadata: metadata)))
    }

    private func answerNotModified(_ name: String, _ cacheControl: String? = nil) {
        var metadata = ResponseMetadata()
        metadata.cacheControl = cacheControl
        metadata.responseTime = fixture.clock.now
        let loaded = LoaderResult(data: Data(), metadata: metadata, isNotModified: true)
        fixture.loader.answer(fixture.url(name), with: .success(loaded))
    }

    private func answerFailure(_ name: String, _ code: ImageError.Code, status: Int? = nil) {
        let head = status.map { ResponseHead(url: fixture.url(name), status: $0) }
        let error = ImageError(code, url: fixture.url(name), reason: "r", remedy: "r", head: head)
        fixture.loader.answer(fixture.url(name), with: .failure(error))
    }

    @discardableResult
    private func load(_ policy: ImageRequest.CachePolicy = .standard, keepsMemory: Bool = false)
        async throws(ImageError)
        -> ImageResponse
    {
        if !keepsMemory { fixture.manager.cache.removeAllFromMemory() }
        return try await fixture.manager.response(for: ImageRequest(url: fixture.url("a"), cachePolicy: policy))
    }

    @Test("A fresh image needs no request; a stale one needs one, and a 304 makes it fresh again")
    func renewal() async throws {
        answer("a", small, "max-age=60")
        #expect(try await load().source == .loader)
        #expect(try await load().source == .disk)
        fixture.clock.advance(by: .seconds(61))
        answerNotModified("a", "max-age=100")
        #expect(try await load().source == .revalidated)
        #expect(fixture.loader.requests.last?.validators?.etag == "\"1\"")
        // The 304 decides how long the image stays fresh.
        fixture.clock.advance(by: .seconds(99))
        #expect(try await load().source == .disk)
        #expect(fixture.loader.requests.count == 2)
    }

    @Test("An image in memory is fresh as long as its response, then shown and validated")
    func staleInMemory() async throws {
        answer("a", small, "max-age=60")
        #expect(try await load().source == .loader)
        let request = ImageRequest(url: fixture.url("a"))
        #expect(fixture.manager.memoryHit(of: request).response != nil)
        fixture.clock.advance(by: .seconds(59))
        #expect(try await load(keepsMemory: true).source == .memory)
        // When the time is over
        fixture.clock.advance(by: .seconds(2))
        answerNotModified("a", "max-age=100")
        // Then a widget gets it at once, and its load goes on
        let hit = fixture.manager.memoryHit(of: request)
        #expect(hit.image?.pixelSize == small && hit.response == nil)
        // And policies that do not ask use it as it is
        #expect(try await load(.cachedOnly, keepsMemory: true).source == .memory)
        #expect(try await load(.cachedElseLoad, keepsMemory: true).source == .memory)
        #expect(fixture.loader.requests.count == 1)
        // And the server is asked once, after which it is fresh for as long as the server has said
        let partials = EventLog<PixelSize>()
        let outcomes = EventLog<LoadSource>()
        fixture.load(request, partial: { partials.add($0.pixelSize) }) {
            outcomes.add((try? $0.get())?.source ?? .disk)
        }
        outcomes.wait { $0.count == 1 }
        #expect(outcomes.all == [.revalidated] && partials.all == [small])
        fixture.clock.advance(by: .seconds(99))
        #expect(try await load(keepsMemory: true).source == .memory)
        #expect(fixture.loader.requests.count == 2)
        // An image that has changed is replaced.
        fixture.clock.advance(by: .seconds(2))
        answer("a", large, "no-cache", etag: "\"2\"")
        #expect(try await load(keepsMemory: true).image.pixelSize == large)
        // One that is never to be used without asking is asked about each time.
        answerNotModified("a", "no-cache")
        #expect(try await load(keepsMemory: true).source == .revalidated)
        #expect(fixture.loader.requests.count == 4)
    }

    @Test("A stale image in memory serves while its server cannot be reached, and without a disk cache")
    func staleInMemoryOffline() async throws {
        answer("a", small, "max-age=60")
        #expect(try await load().source == .loader)
        fixture.clock.advance(by: .seconds(61))
        answerFailure("a", .connectionFailed)
        let response = try await load(keepsMemory: true)
        #expect(response.refreshError?.code == .connectionFailed && response.image.pixelSize == small)
        // Without a disk cache there is nothing to validate it with.
        let other = ManagerFixture(hasDisk: false)
        var metadata = ResponseMetadata()
        (metadata.cacheControl, metadata.responseTime) = ("max-age=60", other.clock.now)
        let file = TestImage.solid(0xFF0000, size: small)
        other.loader.answer(other.url("a"), with: .success(LoaderResult(data: file, metadata: metadata)))
        #expect(try await other.manager.response(for: ImageRequest(url: other.url("a"))).source == .loader)
        other.clock.advance(by: .seconds(61))
        #expect(try await other.manager.response(for: ImageRequest(url: other.url("a"))).source == .memory)
    }

    @Test(
        "A stale image in memory serves offline though the disk cache has evicted it, as long as the server allows",
        arguments: [ImageRequest.CachePolicy.standard, .refresh]
    )
    func evictedFromDisk(policy: ImageRequest.CachePolicy) async throws {
        /// Loads what is in memory only, after a time.
        func load(_ cacheControl: String, after seconds: Int) async throws -> ImageResponse {
            answer("a", small, cacheControl)
            _ = try await self.load(.reload)
            await fixture.manager.cache.removeAll(from: .disk)
            fixture.clock.advance(by: .seconds(seconds))
            answerFailure("a", .connectionFailed)
            return try await self.load(policy, keepsMemory: true)
        }
        let response = try await load("max-age=60", after: 3600)
        #expect(response.source == .memory && response.image.pixelSize == small)
        #expect(response.refreshError?.code == .connectionFailed)
        // It stays stale, so that the server is asked again.
        answer("a", small, "max-age=60")
        #expect(try await self.load(policy, keepsMemory: true).source == .loader)
        #expect(try await load("max-age=60, stale-if-error=100", after: 159).source == .memory)
        await #expect(throws: ImageError.self) { try await load("max-age=60, stale-if-error=100", after: 161) }
        await #expect(throws: ImageError.self) { try await load("max-age=60, must-revalidate", after: 61) }
        // An answer of the server that the image is gone is no reason to show it.
        answer("a", small, "max-age=60")
        _ = try await self.load(.reload)
        await fixture.manager.cache.removeAll(from: .disk)
        fixture.clock.advance(by: .seconds(61))
        answerFailure("a", .badStatus, status: 404)
        await #expect(throws: ImageError.self) { try await self.load(policy, keepsMemory: true) }
    }

    @Test("A stale image that has changed is replaced in every size")
    func replacement() async throws {
        answer("a", small, "max-age=60")
        try await load()
        fixture.clock.advance(by: .seconds(61))
        answer("a", large, "max-age=60", etag: "\"2\"")
        let response = try await load()
        #expect(response.source == .loader && response.image.pixelSize == large)
        #expect(try await load().image.pixelSize == large)
        #expect(fixture.loader.requests.count == 2)
    }

    @Test("With stale-while-revalidate the stale image is shown, revalidated in the background and new the next time")
    func staleWhileRevalidate() async throws {
        answer("a", small, "max-age=60, stale-while-revalidate=600")
        try await load()
        fixture.clock.advance(by: .seconds(61))
        answer("a", large, "max-age=60", etag: "\"2\"")
        let shown = try await load()
        #expect(shown.source == .disk && shown.image.pixelSize == small)
        #expect(EventLog<Int>.poll { fixture.loader.requests.count == 2 && fixture.isIdle })
        #expect(fixture.loader.requests.last?.validators?.etag == "\"1\"")
        #expect(try await load(keepsMemory: true).image.pixelSize == large)
        #expect(fixture.loader.requests.count == 2)
    }

    @Test("A refresh delivers the cached image first and completes with the result of one conditional request")
    func refresh() async throws {
        answer("a", small)
        try await load()
        for (isInMemory, isChanged) in [(true, false), (false, false), (false, true), (true, true)] {
            if isChanged { answer("a", large, etag: "\"2\"") } else { answerNotModified("a") }
            if !isInMemory { fixture.manager.cache.removeAllFromMemory() }
            let count = fixture.loader.requests.count
            let order = EventLog<String>()
            let request = ImageRequest(url: fixture.url("a"), cachePolicy: .refresh)
            fixture.load(request, partial: { order.add("shown \($0.pixelSize)") }) { result in
                let response = try? result.get()
                order.add("\(response.map { "\($0.source)" } ?? "error") \(response?.image.pixelSize ?? small)")
            }
            #expect(order.wait { $0.last?.hasPrefix("shown") == false })
            let source = isChanged ? "loader" : "revalidated"
            let size = isChanged ? large : small
            let before = count == 4 ? large : small
            #expect(
                order.all == ["shown \(before)", "\(source) \(size)"],
                "in memory: \(isInMemory), changed: \(isChanged)"
            )
            #expect(fixture.loader.requests.count == count + 1)
            #expect(EventLog<Int>.poll { fixture.isIdle })
        }
    }

    @Test("A refresh decodes the cached image once")
    func refreshDecodesOnce() async throws {
        answer("a", small)
        try await load()
        answerNotModified("a")
        fixture.manager.cache.removeAllFromMemory()
        let before = fixture.decodes.count
        let done = EventLog<Bool>()
        let request = ImageRequest(url: fixture.url("a"), cachePolicy: .refresh)
        fixture.load(request, partial: { _ in }) { _ in done.add(true) }
        #expect(done.wait { $0.count == 1 })
        #expect(fixture.decodes.count == before + 1)
    }

    @Test("A failed refresh delivers the cached image and the error")
    func refreshFailure() async throws {
        answer("a", small)
        try await load()
        answerFailure("a", .connectionFailed)
        let response = try await load(.refresh)
        #expect(response.image.pixelSize == small && response.refreshError?.code == .connectionFailed)
        // A 404 is an answer, so the image is gone.
        answerFailure("a", .badStatus, status: 404)
        await #expect(throws: ImageError.self) { try await load(.refresh) }
    }

    @Test(
        "A stored image stays when it may not be asked for any more, and ends when it is gone",
        arguments: [true, false]
    )
    func refusal(keepsMemory: Bool) async throws {
        answer("a", small, "max-age=60")
        try await load()
        fixture.clock.advance(by: .seconds(1000))
        for status in [401, 403] {
            answerFailure("a", .badStatus, status: status)
            let response = try await load(keepsMemory: keepsMemory)
            #expect(response.image.pixelSize == small && response.refreshError?.httpStatus == status)
        }
        for status in [404, 410] {
            answerFailure("a", .badStatus, status: status)
            fixture.manager.forgetAllFailures()
            await #expect(throws: ImageError.self) { try await load(keepsMemory: keepsMemory) }
        }
    }

    @Test("A stale image serves on a server error, unless the server forbids it")
    func staleIfError() async throws {
        answer("a", small, "max-age=60")
        try await load()
        fixture.clock.advance(by: .seconds(1000))
        answerFailure("a", .badStatus, status: 503)
        let response = try await load()
        #expect(response.source == .disk && response.refreshError?.httpStatus == 503)
        answer("a", small, "max-age=60, must-revalidate")
        try await load(.reload)
        fixture.clock.advance(by: .seconds(1000))
        answerFailure("a", .badStatus, status: 503)
        await #expect(throws: ImageError.self) { try await load() }
    }

    @Test("An image that must no longer be stored is removed", arguments: [true, false])
    func noStore(isNotModified: Bool) async throws {
        answer("a", small)
        try await load()
        if isNotModified { answerNotModified("a", "no-store") } else { answer("a", large, "no-store", etag: "\"2\"") }
        try await load(.refresh)
        let disk = try #require(fixture.disk)
        #expect(EventLog<Int>.poll { disk.entry(for: fixture.url("a").absoluteString) == nil })
    }

    @Test(
        "An image that must not be stored serves for a minute from memory, and is shown while it is loaded again then"
    )
    func noStoreInMemory() async throws {
        answer("a", small, "no-store, max-age=3600")
        try await load()
        fixture.clock.advance(by: .seconds(59))
        #expect(try await load(keepsMemory: true).source == .memory)
        // When the minute is over
        fixture.clock.advance(by: .seconds(2))
        answer("a", large, "no-store")
        let hit = fixture.manager.memoryHit(of: fixture.url("a"))
        #expect(hit.image?.pixelSize == small && hit.response == nil)
        let response = try await load(keepsMemory: true)
        #expect(response.source == .loader && response.image.pixelSize == large)
        #expect(fixture.loader.requests.last?.validators == nil)
    }

    @Test("An image behind a redirect serves for a minute from memory, counted from the response")
    func redirectInMemory() async throws {
        func answer(_ status: Int) {
            var metadata = ResponseMetadata(contentType: "image/png")
            (metadata.etag, metadata.responseTime) = ("\"1\"", fixture.clock.now)
            metadata.redirects = .init([(status, ResponseMetadata())], to: fixture.url("b"), at: fixture.clock.now)
            let data = TestImage.solid(0xFF0000, size: small)
            fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: data, metadata: metadata)))
        }
        // Given a redirect that does not say how long it holds
        answer(302)
        try await load()
        fixture.clock.advance(by: .seconds(50))
        #expect(try await load(keepsMemory: true).source == .memory)
        // When the image is read from disk, then the minute is that of before
        #expect(try await load(.cachedElseLoad).source == .disk)
        fixture.clock.advance(by: .seconds(11))
        answerNotModified("a")
        #expect(try await load(keepsMemory: true).source == .revalidated)
        // A permanent one holds
        answer(301)
        try await load(.reload)
        fixture.clock.advance(by: .seconds(1000))
        #expect(try await load(keepsMemory: true).source == .memory)
    }

    @Test("A response with Vary is fetched again for other header fields")
    func vary() async throws {
        var metadata = ResponseMetadata()
        metadata.vary = ["x-theme": "dark"]
        let data = TestImage.solid(0, size: small)
        fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: data, metadata: metadata)))
        var request = ImageRequest(url: fixture.url("a"))
        request.networkOptions.headers = ["X-Theme": "dark"]
        _ = try await fixture.manager.response(for: request)
        fixture.manager.cache.removeAllFromMemory()
        #expect(try await fixture.manager.response(for: request).source == .disk)
        fixture.manager.cache.removeAllFromMemory()
        request.networkOptions.headers = ["X-Theme": "light"]
        #expect(try await fixture.manager.response(for: request).source == .loader)
        #expect(fixture.loader.requests.last?.options.headers == ["X-Theme": "light"])
    }

    @Test(
        "An image in memory serves a request with other header fields unless its response depends on them",
        arguments: [("x-theme", true), ("accept-encoding", false), ("accept", false), ("authorization", true)]
    )
    func varyInMemory(field: String, depends: Bool) async throws {
        var metadata = ResponseMetadata()
        (metadata.cacheControl, metadata.vary) = ("max-age=1000", [field: "a"])
        let data = TestImage.solid(0, size: small)
        for path in ["a", "b"] {
            fixture.loader.answer(fixture.url(path), with: .success(LoaderResult(data: data, metadata: metadata)))
        }
        func load(_ path: String, _ change: (inout NetworkOptions) -> Void) async throws -> LoadSource {
            var request = ImageRequest(url: fixture.url(path))
            change(&request.networkOptions)
            return try await fixture.manager.response(for: request).source
        }
        // Given an image for one user and theme
        func own(_ options: inout NetworkOptions) {
            options.headers = ["X-Theme": "dark", "X-Trace": "1"]
            options.credential = NetworkOptions.Credential(user: "u", password: "p")
        }
        _ = try await load("a", own)
        // When the same is asked for, or with a field on which nothing depends
        #expect(try await load("a", own) == .memory)
        #expect(
            try await load("a") { options in
                own(&options)
                options.headers["X-Trace"] = "2"
            } == .memory
        )
        // Then it comes from memory, but not for another user and theme
        let other = try await load("a") { options in
            options.headers = ["x-theme": "light"]
            options.credential = NetworkOptions.Credential(user: "v", password: "p")
        }
        #expect((other == .memory) == !depends)
        #expect(try await load("b") { _ in } == .loader)
        #expect(try await load("b") { _ in } == .memory)
    }

    @Test("An image whose response answers no other request serves for a minute")
    func varyByAll() async throws {
        var metadata = ResponseMetadata()
        metadata.vary = ["*": ""]
        let data = TestImage.solid(0, size: small)
        fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: data, metadata: metadata)))
        _ = try await load()
        fixture.clock.advance(by: .seconds(59))
        #expect(try await load(keepsMemory: true).source == .memory)
        fixture.clock.advance(by: .seconds(2))
        #expect(try await load(keepsMemory: true).source == .loader)
    }

    @Test("A load that asks again after a 304 does not replace what the app has stored since it began")
    func storedMeanwhile() async throws {
        let fixture = ManagerFixture(holdsResponses: true)
        let (url, cache) = (fixture.url("a"), fixture.manager.cache)
        func answer(_ data: Data) {
            var metadata = ResponseMetadata(contentType: "image/png")
            metadata.etag = "\"1\""
            let loaded = LoaderResult(data: data, metadata: metadata, isNotModified: data.isEmpty)
            fixture.loader.answer(url, with: .success(loaded))
        }
        answer(TestImage.solid(0xFF0000, size: small))
        var storing = ImageRequest(url: url)
        storing.cacheAccess = .awaitingWrites
        async let first = fixture.manager.response(for: storing)
        #expect(await fixture.polled { fixture.loader.runningCount == 1 })
        fixture.loader.finish(url)
        _ = try await first
        // Given a load that waits for the answer of the server
        async let running = fixture.manager.response(for: ImageRequest(url: url, cachePolicy: .refresh))
        #expect(await fixture.polled { fixture.loader.runningCount == 1 })
        let own = TestImage.solid(0x00FF00, size: small)
        try await cache.store(own, for: url).waitUntilWritten()
        // When the confirmed original is gone, so that the load asks for the whole image
        answer(Data())
        fixture.loader.finish(url)
        #expect(await fixture.polled { fixture.loader.requests.count == 3 && fixture.loader.runningCount == 1 })
        answer(TestImage.solid(0x0000FF, size: small))
        fixture.loader.finish(url)
        // Then
        #expect(try await running.source == .loader)
        #expect(await fixture.polled { fixture.isQuiet })
        #expect(await cache.data(for: url) == own)
    }

    @Test("Bytes in the disk cache that are no image are removed")
    func undecodable() async throws {
        let disk = try #require(fixture.disk)
        let key = fixture.url("a").absoluteString
        disk.store(CacheEntry(key: key, data: Data("no image".utf8), storedAt: .distantPast))
        await #expect(throws: ImageError.self) { try await load() }
        #expect(EventLog<Int>.poll { disk.entry(for: key) == nil })
        answer("a", small)
        #expect(try await load().source == .loader)
    }
}
