import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Tokens that the server refuses")
struct TokenTests {
    /// The tokens of an app, which are refreshed once for all loads that find the old one refused.
    private actor Tokens {
        private var token = "old"
        private var refresh: Task<String, any Error>?
        private let gate: AsyncGate?
        private(set) var refreshCount = 0

        init(gate: AsyncGate? = nil) {
            self.gate = gate
        }

        func current(insteadOf refused: String?) async throws -> String {
            guard refused == "Bearer \(token)" else { return token }
            let task =
                refresh
                ?? Task {
                    defer { refresh = nil }
                    refreshCount += 1
                    try await gate?.wait()
                    token = "new"
                    return token
                }
            refresh = task
            return try await task.value
        }

        nonisolated var modifier: RequestModifier {
            RequestModifier(key: "token") { request in
                var request = request
                let refused = request.refusal?.headers["Authorization"]
                request.headers["Authorization"] = "Bearer " + (try await self.current(insteadOf: refused))
                return request
            }
        }
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        var value: Int { count.withLock { $0 } }

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }

        func reset() { count.withLock { $0 = 0 } }
    }

    /// A server that takes one token.
    private func server(_ token: String = "Bearer new", status: Int = 401) throws -> LocalImageServer {
        try LocalImageServer { request in
            guard request.headers["authorization"] == token else {
                let challenge = ("WWW-Authenticate", "Bearer error=\"invalid_token\"")
                return ServerResponse(status: status, headers: [challenge], body: Data(count: 100_000))
            }
            return .ok(Download.body, contentType: "image/png")
        }
    }

    @Test("After a status 401 a modifier is asked once more, and told what was refused")
    func refreshed() async throws {
        let server = try server()
        let refusals = EventLog<RequestModifier.Refusal?>()
        let tokens = Tokens()
        let modifier = RequestModifier(key: "log") { request in
            refusals.add(request.refusal)
            return request
        }
        let download = Download(.patient(), server.url("/a")) {
            $0.requestModifier = modifier.then(tokens.modifier)
        }
        let loaded = try await download.ending()
        #expect(loaded.data == Download.body && loaded.head?.status == 200)
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer old", "Bearer new"])
        #expect(refusals.all.count == 2 && refusals.all.first??.headers == nil)
        let refusal = refusals.all.last ?? nil
        #expect(refusal?.headers["Authorization"] == "Bearer old" && refusal?.response.status == 401)
        #expect(refusal?.response.headers["www-authenticate"] == "Bearer error=\"invalid_token\"")
    }

    @Test("Loads that meet a status 401 together refresh the token once")
    func together() async throws {
        let (server, gate) = (try server(), AsyncGate())
        let tokens = Tokens(gate: gate)
        let downloader = ImageDownloader.patient()
        let downloads = (0..<10).map { number in
            Download(downloader, server.url("/\(number)")) { $0.requestModifier = tokens.modifier }
        }
        // Given all of them refused
        #expect(await eventually { server.requests.count == 10 && downloader.transferCounts == (0, 10) })
        gate.open()
        for download in downloads { #expect(try await download.ending().data == Download.body) }
        #expect(await tokens.refreshCount == 1)
        #expect(server.requests.count == 20)
    }

    @Test("A token that is refused again ends the load with the status 401, however often there is another one")
    func refusedAgain() async throws {
        let server = try server("none")
        let count = Counter()
        let modifier = RequestModifier(key: "endless") { request in
            await Task.yield()
            var request = request
            request.headers["Authorization"] = "Bearer \(count.next())"
            return request
        }
        let error = await Download(.patient(), server.url("/a")) { $0.requestModifier = modifier }.failing()
        #expect(error?.code == .badStatus && error?.httpStatus == 401)
        #expect(error?.head?.headers["www-authenticate"] == "Bearer error=\"invalid_token\"")
        #expect(count.value == 2 && server.requests.count == 2)
    }

    @Test("A modifier that has nothing else to send is asked once more, and its request is not sent again")
    func unchanged() async throws {
        let server = try server("none")
        let count = Mutex(0)
        let modifiers = [
            RequestModifier(key: "same") { request in
                count.withLock { $0 += 1 }
                var request = request
                request.headers["Authorization"] = "Bearer same"
                return request
            },
            RequestModifier(key: "nothing") { request in
                count.withLock { $0 += 1 }
                await Task.yield()
                return request.refusal == nil ? request : nil
            },
        ]
        for modifier in modifiers {
            let error = await Download(.patient(), server.url("/a")) { $0.requestModifier = modifier }.failing()
            #expect(error?.httpStatus == 401)
        }
        #expect(count.withLock { $0 } == 4 && server.requests.count == 2)
    }

    @Test(
        "Other statuses, and origins that a redirect leads to, do not ask a modifier again",
        arguments: [403, 407, 500]
    )
    func otherStatus(status: Int) async throws {
        let server = try server("none", status: status)
        let calls = Mutex(0)
        let modifier = RequestModifier(key: "counting") { request in
            calls.withLock { $0 += 1 }
            await Task.yield()
            return request
        }
        let error = await Download(.patient(), server.url("/a")) { $0.requestModifier = modifier }.failing()
        #expect(error?.httpStatus == status && calls.withLock { $0 } == 1 && server.requests.count == 1)
        let other = try self.server("none")
        let redirecting = try LocalImageServer { _ in .redirect(to: other.url("/b").absoluteString) }
        let redirected = Download(.patient(), redirecting.url("/a")) { $0.requestModifier = modifier }
        #expect(await redirected.failing()?.httpStatus == 401)
        #expect(calls.withLock { $0 } == 2 && other.requests.count == 1)
    }

    @Test("A token that cannot be refreshed ends the load with the reason, and a transient one has the load retried")
    func unrefreshed() async throws {
        let server = try server()
        let attempts = Counter()
        let modifier = RequestModifier(key: "failing") { request in
            var request = request
            if request.refusal != nil, attempts.next() == 1 {
                throw ImageError(.connectionFailed, url: nil, reason: "No server", remedy: "Wait.")
            }
            request.headers["Authorization"] = request.refusal == nil ? "Bearer old" : "Bearer new"
            return request
        }
        let error = await Download(.patient(), server.url("/a")) { $0.requestModifier = modifier }.failing()
        #expect(error?.code == .connectionFailed && error?.reason == "No server")
        attempts.reset()
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.downloader = ImageDownloader.patient { $0.requestModifier = modifier }
        configuration.retryPolicy.initialDelay = .zero
        let manager = ImageManager(configuration: configuration)
        // The body is no image.
        let failure = await thrownError { try await manager.image(for: server.url("/a")) }
        #expect(failure?.code == .badImageData && attempts.value == 2)
    }

    @Test("A response that varies by what only an asynchronous modifier knows is confirmed by its server")
    func varying() async throws {
        let image = TestImage.solid(1, size: PixelSize(width: 8, height: 8))
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(image, contentType: "image/png")
            response.headers.append(("Cache-Control", "max-age=600"))
            response.headers.append(("Vary", request.path == "/accept" ? "Accept" : "Accept, Authorization"))
            if request.path != "/untagged" { response.headers.append(("ETag", "\"1\"")) }
            return response.conditional(on: request)
        }
        let directory = TemporaryDirectory()
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: directory.path)
        configuration.retryPolicy = .never
        let tokens = Tokens()
        configuration.downloader = ImageDownloader.patient { $0.requestModifier = tokens.modifier }
        let manager = ImageManager(configuration: configuration)
        func load(_ path: String) async throws -> ImageResponse {
            manager.cache.removeAllFromMemory()
            var request = ImageRequest(url: server.url(path))
            request.cacheAccess.awaitsWrites = true
            return try await manager.response(for: request)
        }
        for path in ["/accept", "/tagged", "/untagged"] { #expect(try await load(path).source == .loader) }
        #expect(try await load("/accept").source == .disk)
        let confirmed = try await load("/tagged")
        #expect(confirmed.source == .revalidated && confirmed.head?.status == 304)
        #expect(try await load("/untagged").source == .loader)
        // Without the server, nobody knows whose image it is.
        server.stop()
        #expect(await thrownError { try await load("/tagged") }?.code == .connectionFailed)
        #expect(try await load("/accept").source == .disk)
    }
}
