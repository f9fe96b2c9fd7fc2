import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("What an error says of all that was tried")
struct ErrorHistoryTests {
    private static func policy(retries: Int) -> ImageRetryPolicy {
        var policy = ImageRetryPolicy()
        policy.maximumCount = retries
        policy.jitter = 0
        return policy
    }

    private func failure(_ status: Int, _ url: URL, _ reason: String = "The server failed") -> Result<
        LoaderResult, ImageError
    > {
        let head = ResponseHead(url: url, status: status)
        return .failure(ImageError(.badStatus, url: url, reason: reason, remedy: "Wait.", head: head))
    }

    private func error(of request: ImageRequest, _ fixture: ManagerFixture) async throws -> ImageError {
        let result = await withCheckedContinuation { continuation in
            fixture.manager.load(request, on: InlineDispatcher()) { continuation.resume(returning: $0) }
        }
        guard case .failure(let error) = result else {
            Issue.record("The load succeeded")
            throw ThrownError()
        }
        return error
    }

    private struct ThrownError: Error {}

    @Test("Each retry and each fallback is there, with its URL, its error, when it began and how long it took")
    func everything() throws {
        // Given a URL that fails twice for now, a fallback that is missing, and one that is no image
        let fixture = ManagerFixture(holdsResponses: true, retryPolicy: Self.policy(retries: 1))
        let urls = ["a", "b", "c"].map { fixture.url($0) }
        fixture.loader.answer(urls[0], with: failure(503, urls[0]))
        fixture.loader.answer(urls[1], with: failure(404, urls[1], "Nothing is there"))
        fixture.loader.answer(urls[2], with: Data("no image".utf8))
        var request = ImageRequest(url: urls[0])
        request.fallbackURLs = Array(urls[1...])
        let errors = EventLog<ImageError>()
        fixture.load(request) { if case .failure(let error) = $0 { errors.add(error) } }
        let start = fixture.clock.now
        func answer(_ url: URL, after seconds: Int) {
            #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 && fixture.loader.started.last == url })
            fixture.clock.advance(by: .seconds(seconds))
            fixture.loader.finish(url)
        }
        // When all of them have answered
        answer(urls[0], after: 2)
        #expect(EventLog<Int>.poll { fixture.clock.pendingDelays == [0.5] })
        fixture.clock.advance(by: .milliseconds(500))
        answer(urls[0], after: 3)
        answer(urls[1], after: 0)
        answer(urls[2], after: 1)
        #expect(errors.wait { $0.count == 1 })
        // Then the error is that of the last one, and tells of all
        let error = try #require(errors.all.first)
        #expect(error.code == .badImageData || error.code == .unsupportedFormat)
        let history = error.attempts
        #expect(history.map(\.url) == [urls[0], urls[0], urls[1], urls[2]])
        #expect(history.map(\.error.code) == [.badStatus, .badStatus, .badStatus, error.code])
        #expect(history.map(\.error.httpStatus) == [503, 503, 404, nil])
        #expect(history.map { $0.date.timeIntervalSince(start) } == [0, 2.5, 5.5, 5.5])
        #expect(history.map(\.duration) == [.seconds(2), .seconds(3), .zero, .seconds(1)])
        #expect(history.allSatisfy { $0.error.attempts.isEmpty })
        // And it prints as a tree.
        let report = """
            \(error)
            ├─ <http://host/a>
            │  ├─ after 0.00 s, took 2.00 s: The server failed (badStatus 2001)
            │  └─ after 2.50 s, took 3.00 s: The server failed (badStatus 2001)
            ├─ <http://host/b>
            │  └─ after 5.50 s, took 0.00 s: Nothing is there (badStatus 2001)
            └─ <http://host/c>
               └─ after 5.50 s, took 1.00 s: \(error.reason) (\(error.code))
            """
        #expect(error.report == report)
    }

    @Test("A load that fails at once has one attempt, one that is cancelled none, and one that succeeds no error")
    func plain() async throws {
        let fixture = ManagerFixture()
        let url = fixture.url("missing")
        let error = try await error(of: ImageRequest(url: url), fixture)
        #expect(error.attempts.map(\.url) == [url] && error.attempts.map(\.error.httpStatus) == [404])
        // Without a loader, or what the policy allows, nothing took time.
        let cached = try await self.error(of: ImageRequest(url: url, cachePolicy: .cachedOnly), fixture)
        #expect(cached.attempts.map(\.error.code) == [.notInCache] && cached.attempts.map(\.duration) == [.zero])
        let held = ManagerFixture(holdsResponses: true)
        let errors = EventLog<ImageError>()
        let task = held.load(ImageRequest(url: url)) { if case .failure(let error) = $0 { errors.add(error) } }
        task.cancel()
        #expect(await held.polled { errors.all.count == 1 })
        #expect(errors.all[0].isCancelled && errors.all[0].attempts.isEmpty)
        #expect(errors.all[0].report == "\(errors.all[0])")
    }

    @Test("The URL for metered networks and the chosen variant are there in place of the URL of the request")
    func alternatives() async throws {
        let fixture = ManagerFixture()
        fixture.network.status = ImageNetworkStatus(isMetered: true)
        var request = ImageRequest(url: fixture.url("full"))
        request.lowDataURL = fixture.url("low")
        request.fallbackURLs = [fixture.url("other")]
        let low = try await error(of: request, fixture)
        #expect(low.attempts.map(\.url) == [fixture.url("low"), fixture.url("other")])
        fixture.network.status = ImageNetworkStatus()
        let variants = ImageVariants(
            url: fixture.url("plain"),
            widths: [100: fixture.url("small"), 400: fixture.url("large")]
        )
        request = variants.imageRequest
        request.decodeSize = .contain(PixelSize(width: 90, height: 60))
        request.fallbackURLs = [fixture.url("other")]
        let chosen = try await error(of: request, fixture)
        #expect(chosen.attempts.map(\.url) == [fixture.url("small"), fixture.url("other")])
    }

    @Test("The error of a load of bytes tells of the retries and fallbacks before it, too")
    func bytes() async throws {
        let fixture = ManagerFixture()
        let urls = ["a", "b", "c"].map { fixture.url($0) }
        for url in urls { fixture.loader.answer(url, with: failure(404, url)) }
        var request = ImageRequest(url: urls[0])
        request.fallbackURLs = Array(urls[1...])
        let error = await thrownError { try await fixture.manager.data(for: request) }
        #expect(error?.attempts.map(\.url) == urls)
    }

    @Test("A failure that is remembered says so, and holds nothing of the attempts before it")
    func remembered() async throws {
        let fixture = ManagerFixture()
        let request = ImageRequest(url: fixture.url("a"))
        fixture.loader.answer(request.url, with: failure(404, request.url, "Nothing is there"))
        _ = try await error(of: request, fixture)
        fixture.clock.advance(by: .seconds(10))
        let error = try await error(of: request, fixture)
        #expect(error.isRemembered && error.attempts.count == 1 && error.attempts[0].error.isRemembered)
        #expect(error.attempts[0].duration == .zero)
        #expect(error.report.hasSuffix("took 0.00 s: Nothing is there (badStatus 2001, remembered)"))
        #expect(fixture.loader.requests.count == 1)
    }

    @Test("All who wait for one load hear the same")
    func shared() {
        let fixture = ManagerFixture(holdsResponses: true)
        let url = fixture.url("a")
        let errors = EventLog<ImageError>()
        for side in [10, 20, 20] {
            let request = ImageRequest(url: url, decodeSize: .contain(PixelSize(width: side, height: side)))
            fixture.load(request) { if case .failure(let error) = $0 { errors.add(error) } }
        }
        #expect(EventLog<Int>.poll { fixture.loader.runningCount == 1 })
        fixture.loader.finish(url)
        #expect(errors.wait { $0.count == 3 })
        #expect(errors.all.allSatisfy { $0.attempts.map(\.url) == [url] })
    }

    @Test("The error beside a cached image tells of its attempts, too")
    func stale() async throws {
        let fixture = ManagerFixture()
        let url = fixture.url("a")
        var metadata = ResponseMetadata(contentType: "image/png")
        (metadata.etag, metadata.cacheControl) = ("\"1\"", "max-age=60, stale-if-error=100000")
        let picture = TestImage.solid(1, size: PixelSize(width: 8, height: 8))
        fixture.loader.answer(url, with: .success(LoaderResult(data: picture, metadata: metadata)))
        _ = try await fixture.manager.image(for: url)
        fixture.clock.advance(by: .seconds(1000))
        fixture.loader.answer(url, with: failure(503, url))
        let response = try await fixture.manager.response(for: ImageRequest(url: url, cachePolicy: .refresh))
        #expect(response.refreshError?.attempts.map(\.error.httpStatus) == [503])
    }

    @Test("Of very many fallbacks the first ones and the last one are kept")
    func bounded() async throws {
        let fixture = ManagerFixture()
        let count = getenv("THREAD_SANITIZER") == nil ? 500 : 100
        let urls = (0..<count).map { fixture.url("\($0)") }
        var request = ImageRequest(url: urls[0])
        request.fallbackURLs = Array(urls.dropFirst())
        let history = try await error(of: request, fixture).attempts
        #expect(history.count == 64)
        #expect(history.prefix(63).map(\.url) == Array(urls.prefix(63)) && history.last?.url == urls.last)
        #expect(fixture.loader.requests.count == count)
    }

    @Test("A report has no secret of a URL, and is short for a long one")
    func secrets() async throws {
        let fixture = ManagerFixture()
        let text = "http://user:secret@host/a?token=secret&" + String(repeating: "x", count: 10_000)
        let report = try await error(of: ImageRequest(url: #require(URL(string: text))), fixture).report
        #expect(!report.contains("secret") && report.utf8.count < 2000)
    }

    @Test("A clock that is set back makes no negative times")
    func clock() async throws {
        let fixture = ManagerFixture(holdsResponses: true)
        let errors = EventLog<ImageError>()
        fixture.load(ImageRequest(url: fixture.url("a"))) { if case .failure(let error) = $0 { errors.add(error) } }
        #expect(await fixture.polled { fixture.loader.runningCount == 1 })
        fixture.clock.advance(by: .seconds(-3600))
        fixture.loader.finish(fixture.url("a"))
        #expect(await fixture.polled { errors.all.count == 1 })
        #expect(errors.all[0].attempts.map(\.duration) == [.zero])
    }
}
