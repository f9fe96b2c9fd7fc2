import Dispatch
import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("Failures: retries, the failure cache, offline")
struct RetryTests {
    private static let picture = TestImage.solid(1, size: PixelSize(width: 8, height: 8))

    private static func policy(_ change: (inout ImageRetryPolicy) -> Void = { _ in })
        -> ImageRetryPolicy
    {
        var policy = ImageRetryPolicy()
        policy.jitter = 0
        change(&policy)
        return policy
    }

    private func fail(
        _ fixture: ManagerFixture,
        _ code: ImageError.Code,
        status: Int? = nil,
        retryAfter: Duration? = nil
    ) {
        let error = ImageError(
            code,
            url: fixture.url("a"),
            reason: "r",
            remedy: "r",
            head: status.map { ResponseHead(url: fixture.url("a"), status: $0) },
            retryAfter: retryAfter
        )
        fixture.loader.answer(fixture.url("a"), with: .failure(error))
    }

    @Test("A transient failure is retried after growing pauses, and the result is delivered once")
    func backoff() {
        let fixture = ManagerFixture(retryPolicy: Self.policy { $0.maximumCount = 3 })
        fail(fixture, .connectionFailed)
        fixture.load("a")
        var pauses: [Double] = []
        for round in 1...3 {
            #expect(EventLog<Int>.poll { fixture.clock.pendingDelays.count == 1 })
            pauses += fixture.clock.pendingDelays
            if round == 3 { fixture.loader.answer(fixture.url("a"), with: Self.picture) }
            fixture.clock.advance(by: .seconds(100))
        }
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(pauses == [0.5, 1, 2])
        #expect(fixture.outcomes.all == [.image(PixelSize(width: 8, height: 8), .loader)])
        #expect(fixture.loader.requests.count == 4)
    }

    @Test("After the last retry the error states the number of attempts")
    func attempts() {
        let fixture = ManagerFixture(retryPolicy: Self.policy { $0.initialDelay = .zero })
        fail(fixture, .timedOut)
        let errors = EventLog<ImageError?>()
        fixture.load(ImageRequest(url: fixture.url("a"))) { result in
            if case .failure(let error) = result { errors.add(error) } else { errors.add(nil) }
        }
        for count in 1...2 {
            #expect(
                EventLog<Int>.poll { fixture.loader.requests.count == count && fixture.clock.pendingDelays.count == 1 }
            )
            fixture.clock.advance(by: .zero)
        }
        #expect(errors.wait { $0.count == 1 })
        #expect(errors.all[0]?.attemptCount == 3 && errors.all[0]?.code == .timedOut)
    }

    @Test(
        "The retry policy decides which failures are retried and when",
        arguments: [
            (ImageError.Code.badStatus, 503, nil, 0.5), (.badStatus, 429, 7.0, 7), (.badStatus, 408, nil, 0.5),
            (.badStatus, 503, 3600.0, nil), (.badStatus, 404, nil, nil), (.badStatus, 501, nil, nil),
            (.badImageData, nil, nil, nil), (.tlsFailed, nil, nil, nil), (.transferIncomplete, nil, nil, 0.5),
        ] as [(ImageError.Code, Int?, Double?, Double?)]
    )
    func policies(code: ImageError.Code, status: Int?, asked: Double?, expected: Double?) {
        let error = ImageError(
            code,
            url: nil,
            reason: "",
            remedy: "",
            head: status.map { ResponseHead(url: URL(filePath: "/"), status: $0) },
            retryAfter: asked.map { .seconds($0) }
        )
        #expect(Self.policy().delay(after: error, attempt: 1, chance: 1) == expected.map { .seconds($0) })
    }

    @Test("Jitter shortens a pause by up to its share, and no pause exceeds the maximum")
    func jitter() {
        let error = ImageError(.timedOut, url: nil, reason: "", remedy: "")
        var policy = ImageRetryPolicy()
        policy.maximumCount = 100
        #expect(policy.delay(after: error, attempt: 1, chance: 1) == .milliseconds(250))
        #expect(policy.delay(after: error, attempt: 1, chance: 0) == .milliseconds(500))
        #expect(policy.delay(after: error, attempt: 90, chance: 0) == .seconds(30))
        #expect(ImageRetryPolicy.never.delay(after: error, attempt: 1, chance: 0) == nil)
    }

    @Test("A load that is cancelled during a pause ends at once without another attempt")
    func cancelled() {
        let fixture = ManagerFixture(retryPolicy: Self.policy())
        fail(fixture, .connectionFailed)
        let task = fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.clock.pendingDelays.count == 1 })
        task.cancel()
        #expect(fixture.outcomes.all == [.failure(.cancelled)])
        #expect(fixture.isIdle)
        fixture.clock.advance(by: .seconds(100))
        #expect(fixture.loader.requests.count == 1)
    }

    @Test("A task that joins during a pause gets the result of the retry")
    func joined() {
        let fixture = ManagerFixture(retryPolicy: Self.policy())
        fail(fixture, .connectionFailed)
        fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.clock.pendingDelays.count == 1 })
        fixture.load("a")
        fixture.loader.answer(fixture.url("a"), with: Self.picture)
        fixture.clock.advance(by: .seconds(1))
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.loader.requests.count == 2)
    }

    @Test("The failure of a request with a key of its own is forgotten, and so are all")
    func forgottenWithKey() async {
        let fixture = ManagerFixture()
        fail(fixture, .badStatus, status: 404)
        var request = ImageRequest(url: fixture.url("a"))
        request.cacheKey = "photo"
        for count in 1...3 {
            _ = try? await fixture.manager.image(for: request)
            _ = try? await fixture.manager.image(for: request)
            #expect(fixture.loader.requests.count == count)
            if count == 1 { fixture.manager.forgetFailure(of: request) } else { fixture.manager.forgetAllFailures() }
        }
    }

    @Test("A permanent failure is remembered for a time, unless the request retries failed URLs")
    func remembered() async {
        let fixture = ManagerFixture()
        let url = fixture.url("a")
        fail(fixture, .badStatus, status: 404)
        let first = await thrownError { try await fixture.manager.image(for: url) }
        #expect(first?.isRemembered == false)
        let second = await thrownError { try await fixture.manager.image(for: url) }
        #expect(second?.isRemembered == true && second?.httpStatus == 404)
        #expect(fixture.loader.requests.count == 1)
        // The time passes.
        fixture.clock.advance(by: .seconds(301))
        _ = try? await fixture.manager.image(for: url)
        #expect(fixture.loader.requests.count == 2)
        // When a request retries failed URLs, or the failure was forgotten
        _ = try? await fixture.manager.response(for: ImageRequest(url: url, rememberedFailure: .ignored))
        fixture.manager.forgetFailure(of: url)
        _ = try? await fixture.manager.image(for: url)
        #expect(fixture.loader.requests.count == 4)
        // Nor does it keep a policy that asks the server from doing so.
        for policy in [ImageRequest.CachePolicy.refresh, .reload] {
            let error = await thrownError {
                try await fixture.manager.response(for: ImageRequest(url: url, cachePolicy: policy))
            }
            #expect(error?.isRemembered == false)
        }
        #expect(fixture.loader.requests.count == 6)
        // A success removes the failure.
        fixture.loader.answer(url, with: Self.picture)
        _ = try? await fixture.manager.response(for: ImageRequest(url: url, rememberedFailure: .ignored))
        fixture.manager.cache.removeAllFromMemory()
        await #expect(throws: Never.self) { try await fixture.manager.image(for: url) }
    }

    @Test("A failure is remembered for requests with the same options and credentials only")
    func rememberedForSame() async throws {
        let fixture = ManagerFixture()
        let url = URL(string: "https://host.example/a")!
        let secret = URL(string: "https://user:password@host.example/a")!
        for url in [url, secret] {
            let head = ResponseHead(url: url, status: 404)
            let error = ImageError(.badStatus, url: url, reason: "r", remedy: "r", head: head)
            fixture.loader.answer(url, with: .failure(error))
        }
        func isRemembered(_ url: URL, _ headers: [String: String] = [:]) async -> Bool? {
            var request = ImageRequest(url: url)
            request.networkOptions.headers = headers
            return await thrownError { try await fixture.manager.response(for: request) }?.isRemembered
        }
        #expect(await isRemembered(url) == false)
        #expect(await isRemembered(url, ["Authorization": "1"]) == false)
        #expect(await isRemembered(url, ["Authorization": "2"]) == false)
        #expect(await isRemembered(secret) == false)
        #expect(await isRemembered(url) == true)
        #expect(await isRemembered(url, ["Authorization": "2"]) == true)
        #expect(await isRemembered(secret) == true)
        // To forget the failure of a URL is to forget it for all options. With a user it is another URL.
        fixture.manager.forgetFailure(of: url)
        #expect(await isRemembered(url, ["Authorization": "1"]) == false)
        #expect(await isRemembered(secret) == true)
        fixture.manager.forgetFailure(of: secret)
        #expect(await isRemembered(secret) == false)
    }

    @Test("The failure of a URL says nothing of another with the same key, but of the same one with another signature")
    func rememberedForURL() async {
        let fixture = ManagerFixture()
        let (old, new) = (fixture.url("old"), fixture.url("new"))
        let signed = ["1", "2"].map { URL(string: "\(fixture.url("signed"))?Signature=\($0)")! }
        for url in [old] + signed {
            let head = ResponseHead(url: url, status: 404)
            let error = ImageError(.badStatus, url: url, reason: "r", remedy: "r", head: head)
            fixture.loader.answer(url, with: .failure(error))
        }
        fixture.loader.answer(new, with: Self.picture)
        func request(_ url: URL, key: String = "avatar") -> ImageRequest {
            var request = ImageRequest(url: url)
            request.cacheKey = key
            return request
        }
        // Given a URL that has no image
        _ = try? await fixture.manager.image(for: request(old))
        // Then another one with the same key is asked, also as a fallback
        await #expect(throws: Never.self) { try await fixture.manager.image(for: request(new)) }
        fixture.manager.cache.removeAllFromMemory()
        var withFallback = request(old)
        withFallback.fallbackURLs = [new]
        await #expect(throws: Never.self) { try await fixture.manager.image(for: withFallback) }
        // But a signed URL is not asked for with each signature
        for url in signed { _ = try? await fixture.manager.image(for: request(url, key: "signed")) }
        #expect(fixture.loader.requests.count { $0.url == signed[0] } == 1)
        #expect(fixture.loader.requests.count { $0.url == signed[1] } == 0)
    }

    @Test("A truncated animation is remembered as a failure, but not for requests of its first frame")
    func truncatedAnimation() async throws {
        let fixture = ManagerFixture()
        let file = TestImage.animation([0xFF0000, 0x00FF00, 0x0000FF], size: PixelSize(width: 12, height: 10))
        fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: file.dropLast(8))))
        let whole = ImageRequest(url: fixture.url("a"))
        for isRemembered in [false, true] {
            let error = await thrownError { try await fixture.manager.image(for: whole) }
            #expect(error?.code == .badImageData && error?.isRemembered == isRemembered)
        }
        #expect(fixture.loader.requests.count == 1)
        // When the first frame is asked for, it is loaded
        var first = whole
        first.isFirstFrameOnly = true
        #expect(try await fixture.manager.image(for: first).frameCount == 1)
        #expect(fixture.loader.requests.count == 2)
        // But bytes without a first frame are remembered for all requests
        fixture.loader.answer(fixture.url("b"), with: .success(LoaderResult(data: file.prefix(20))))
        _ = await thrownError { try await fixture.manager.image(for: fixture.url("b")) }
        var none = ImageRequest(url: fixture.url("b"))
        none.isFirstFrameOnly = true
        #expect(await thrownError { try await fixture.manager.image(for: none) }?.isRemembered == true)
    }

    @Test("A format that is not allowed is not a failure to remember: its bytes are cached for who may show them")
    func formatNotAllowed() async throws {
        let fixture = ManagerFixture { $0.formats.network = [.jpeg] }
        let file = TestImage.solid(0xFF0000, size: PixelSize(width: 8, height: 8))
        fixture.loader.answer(fixture.url("a"), with: .success(LoaderResult(data: file)))
        for _ in 0..<2 {
            let error = await thrownError { try await fixture.manager.image(for: fixture.url("a")) }
            #expect(error?.code == .formatNotAllowed && error?.isRemembered == false)
        }
        // The server is asked once, and a manager that shares the disk cache shows the image.
        #expect(fixture.loader.requests.count == 1)
        #expect(fixture.disk?.entry(for: fixture.url("a").absoluteString)?.data == file)
    }

    @Test("An image that failed for want of a decoder is decoded once it is added")
    func addedDecoder() async throws {
        struct OwnDecoder: ImageDecoding {
            func canDecode(_ format: ImageFormat) -> Bool { format == .unknown }

            func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
                WebImage(pixels: PixelBuffer(size: PixelSize(width: 3, height: 2), format: .rgb) { $0[0] = 1 }!)
            }
        }
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("a"), with: Data("a format of the app".utf8))
        // The loader of this test has no answer for b: status 404.
        for name in ["a", "b"] { _ = await thrownError { try await fixture.manager.image(for: fixture.url(name)) } }
        let remembered = await thrownError { try await fixture.manager.image(for: fixture.url("a")) }
        #expect(remembered?.isRemembered == true)
        fixture.manager.coders.add(OwnDecoder())
        #expect(try await fixture.manager.image(for: fixture.url("a")).pixelSize == PixelSize(width: 3, height: 2))
        // What the server has denied stays so.
        let denied = await thrownError { try await fixture.manager.image(for: fixture.url("b")) }
        #expect(denied?.isRemembered == true)
    }

    @Test("A failure is forgotten when the clock is set back")
    func clockSetBack() async {
        let fixture = ManagerFixture()
        fail(fixture, .badStatus, status: 404)
        _ = await thrownError { try await fixture.manager.image(for: fixture.url("a")) }
        fixture.clock.advance(by: .seconds(-86_400))
        let error = await thrownError { try await fixture.manager.image(for: fixture.url("a")) }
        #expect(error?.isRemembered == false && fixture.loader.requests.count == 2)
    }

    @Test(
        "A transient failure is not remembered",
        arguments: [ImageError.Code.connectionFailed, .timedOut, .tlsFailed]
    )
    func notRemembered(code: ImageError.Code) async {
        let fixture = ManagerFixture()
        fail(fixture, code)
        for _ in 0..<2 { _ = try? await fixture.manager.image(for: fixture.url("a")) }
        #expect(fixture.loader.requests.count == 2)
    }

    @Test("Offline, a load fails at once with its own error, and cached images are still delivered")
    func offline() async throws {
        let fixture = ManagerFixture()
        fixture.loader.answer(fixture.url("b"), with: Self.picture)
        _ = try await fixture.manager.image(for: fixture.url("b"))
        fixture.network.status = ImageNetworkStatus(isAvailable: false)
        let error = await thrownError { try await fixture.manager.image(for: fixture.url("a")) }
        #expect(error?.code == .offline)
        #expect(fixture.loader.requests.count == 1)
        fixture.manager.cache.removeAllFromMemory()
        #expect(try await fixture.manager.response(for: ImageRequest(url: fixture.url("b"))).source == .disk)
        // Hosts nearby need no network.
        let near = try #require(URL(string: "http://127.0.0.1/a"))
        fixture.loader.answer(near, with: Self.picture)
        _ = try await fixture.manager.image(for: near)
    }

    @Test("When connectivity returns, waiting loads are retried at once")
    func backOnline() {
        let fixture = ManagerFixture(retryPolicy: Self.policy { $0.offlineWait = .seconds(60) })
        fixture.network.status = ImageNetworkStatus(isAvailable: false)
        fixture.loader.answer(fixture.url("a"), with: Self.picture)
        fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.clock.pendingDelays == [60] })
        fixture.network.status = ImageNetworkStatus()
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(fixture.outcomes.all == [.image(PixelSize(width: 8, height: 8), .loader)])
        // The timer that still runs does no harm.
        fixture.clock.advance(by: .seconds(100))
        #expect(fixture.loader.requests.count == 1)
    }

    @Test("An app that is set to be offline loads nothing, shows what is cached, and loads when it is online again")
    func offlineByApp() async throws {
        let fixture = ManagerFixture(retryPolicy: Self.policy { $0.offlineWait = .seconds(60) })
        let changes = EventLog<Bool>()
        let token = fixture.manager.observeNetwork { changes.add($0.isAvailable) }
        for name in ["a", "b"] { fixture.loader.answer(fixture.url(name), with: Self.picture) }
        _ = try await fixture.manager.image(for: fixture.url("b"))
        fixture.manager.isOffline = true
        #expect(fixture.manager.isOffline && !fixture.manager.networkStatus.isAvailable)
        _ = try await fixture.manager.image(for: fixture.url("b"))
        fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.clock.pendingDelays == [60] })
        // A change of the machine's network does not end what the app wants.
        fixture.network.status = ImageNetworkStatus(isMetered: true)
        #expect(fixture.loader.requests.count == 1)
        #expect(fixture.manager.networkStatus.isOfflineByApp)
        // Nor is one reported that changes nothing.
        fixture.network.status = ImageNetworkStatus(isMetered: true)
        fixture.manager.isOffline = true
        fixture.manager.isOffline = false
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(fixture.outcomes.all == [.image(PixelSize(width: 8, height: 8), .loader)])
        #expect(fixture.manager.networkStatus == ImageNetworkStatus(isMetered: true))
        #expect(changes.all == [false, false, true])
        token.cancel()
    }

    @Test("Observers hear of changes in their order, the last one last, whatever threads make them")
    func changesFromManyThreads() {
        let fixture = ManagerFixture()
        let seen = Mutex<[ImageNetworkStatus]>([])
        let token = fixture.manager.observeNetwork { status in seen.withLock { $0.append(status) } }
        // When two threads switch at once, a thousand times
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            for number in 0..<1000 {
                if thread == 0 {
                    fixture.manager.isOffline = number % 2 == 0
                } else {
                    fixture.network.status = ImageNetworkStatus(isMetered: number % 2 == 0)
                }
            }
        }
        // Then no status is reported twice in a row, and the last one is what is
        let all = seen.withLock { $0 }
        #expect(zip(all, all.dropFirst()).allSatisfy { $0 != $1 })
        #expect(all.last == fixture.manager.networkStatus)
        token.cancel()
    }

    @Test("The error of an app that is set to be offline says how to end that")
    func offlineError() async {
        let fixture = ManagerFixture()
        fixture.manager.isOffline = true
        let error = await thrownError { try await fixture.manager.image(for: fixture.url("a")) }
        #expect(error?.code == .offline && error?.remedy.contains("ImageManager.isOffline") == true)
    }

    @Test("Without connectivity the wait for it ends")
    func neverOnline() {
        let fixture = ManagerFixture(retryPolicy: Self.policy { $0.offlineWait = .seconds(60) })
        fixture.network.status = ImageNetworkStatus(isAvailable: false)
        fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.clock.pendingDelays == [60] })
        fixture.clock.advance(by: .seconds(61))
        #expect(fixture.outcomes.wait { $0.count == 1 })
        #expect(fixture.outcomes.all == [.failure(.offline)])
    }

    @Test("A fetch without tasks is finished for the disk cache when that is cheaper than cancelling it")
    func finished() throws {
        let fixture = ManagerFixture(holdsResponses: true)
        let disk = try #require(fixture.disk)
        fixture.loader.isNearlyComplete = true
        fixture.loader.answer(fixture.url("a"), with: Self.picture)
        let task = fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        task.cancel()
        #expect(fixture.outcomes.all == [.failure(.cancelled)])
        fixture.settle()
        #expect(fixture.loader.cancelled.isEmpty)
        fixture.loader.finish(fixture.url("a"))
        #expect(disk.entry(for: fixture.url("a").absoluteString)?.data == Self.picture)
        #expect(fixture.isIdle)
        // Without a disk cache it is cancelled.
        let other = fixture.load("b", cacheAccess: .writingMemoryOnly)
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        other.cancel()
        fixture.settle()
        #expect(fixture.loader.cancelled.count == 1)
    }

    @Test("A fetch without tasks that fails is not retried")
    func finishedInVain() {
        let fixture = ManagerFixture(holdsResponses: true, retryPolicy: Self.policy())
        fixture.loader.isNearlyComplete = true
        fail(fixture, .connectionFailed)
        let task = fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        task.cancel()
        fixture.settle()
        fixture.loader.finish(fixture.url("a"))
        #expect(EventLog<Int>.poll { fixture.isIdle })
        #expect(fixture.clock.pendingDelays.isEmpty && fixture.loader.requests.count == 1)
    }

    @Test("A new task joins a fetch that is being finished")
    func finishedAndShared() {
        let fixture = ManagerFixture(holdsResponses: true)
        fixture.loader.isNearlyComplete = true
        fixture.loader.answer(fixture.url("a"), with: Self.picture)
        let task = fixture.load("a")
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        task.cancel()
        fixture.load("a")
        fixture.loader.finish(fixture.url("a"))
        #expect(fixture.outcomes.wait { $0.count == 2 })
        #expect(fixture.loader.requests.count == 1)
    }

    @Test("A loader that is added at run time is tried first")
    func loaders() async throws {
        let fixture = ManagerFixture()
        let newer = FakeLoader()
        newer.answer(fixture.url("a"), with: Self.picture)
        fixture.manager.loaders.add(newer)
        _ = try await fixture.manager.image(for: fixture.url("a"))
        #expect(newer.requests.count == 1 && fixture.loader.requests.isEmpty)
    }
}
