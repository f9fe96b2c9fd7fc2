import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Redirects that the app decides about")
struct RedirectHandlerTests {
    private func server(_ target: @escaping @Sendable (ServerRequest) -> String?) throws -> LocalImageServer {
        try LocalImageServer { request in
            guard let target = target(request) else { return .ok(Download.body, contentType: "image/png") }
            var response = ServerResponse.redirect(to: target)
            response.headers.append(("X-Reason", "moved"))
            return response
        }
    }

    @Test("A handler sees each redirect, and where it leads is loaded")
    func followed() async throws {
        let server = try server { ["/a": "/b", "/b": "c?x=1"][$0.path] }
        let seen = EventLog<ImageDownloader.Redirect>()
        let downloader = ImageDownloader.patient {
            $0.redirectHandler = { redirect in
                seen.add(redirect)
                await Task.yield()
                return redirect.target
            }
        }
        let loaded = try await Download(downloader, server.url("/a")).ending()
        #expect(loaded.data == Download.body && loaded.metrics?.redirectCount == 2)
        #expect(loaded.head?.url == server.url("/c?x=1"))
        #expect(seen.all.map(\.target) == [server.url("/b"), server.url("/c?x=1")])
        #expect(seen.all.map(\.response.url) == [server.url("/a"), server.url("/b")])
        #expect(seen.all.allSatisfy { $0.response.status == 302 && $0.response.headers["x-reason"] == "moved" })
    }

    @Test("A handler leads elsewhere, or nowhere")
    func changed() async throws {
        let server = try server { $0.path == "/a" ? "app://image/7" : nil }
        let url = server.url("/mapped")
        let leading = ImageDownloader.patient { $0.redirectHandler = { $0.target.scheme == "app" ? url : nil } }
        #expect(try await Download(leading, server.url("/a")).ending().data == Download.body)
        #expect(server.requests.map(\.path) == ["/a", "/mapped"])
        let refusing = ImageDownloader.patient { $0.redirectHandler = { _ in nil } }
        let error = try #require(await Download(refusing, server.url("/a")).failing())
        #expect(error.code == .badRedirect && error.url == server.url("/a") && error.reason.contains("app:"))
        #expect(error.httpStatus == 302 && error.head?.headers["location"] == "app://image/7")
        struct Trouble: Error {}
        let failing = ImageDownloader.patient { $0.redirectHandler = { _ in throw Trouble() } }
        let trouble = await Download(failing, server.url("/a")).failing()
        #expect(trouble?.code == .invalidRequest && trouble?.reason.contains("redirect handler") == true)
    }

    @Test("What holds for every redirect holds for the choice of a handler")
    func limited() async throws {
        let other = try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
        let server = try server { $0.path == "/end" ? nil : "/a" }
        func load(
            _ choice: @escaping @Sendable (URL) -> URL?,
            shouldLoad: (@Sendable (URL) -> Bool)? = nil
        ) async -> Download {
            let downloader = ImageDownloader.patient { $0.redirectHandler = { choice($0.target) } }
            var options = NetworkOptions()
            options.headers = ["Authorization": "Bearer secret", "Cookie": "session=1", "X-Key": "secret"]
            options.requestModifier = .headers(["X-Signature": "secret"])
            options.credential = NetworkOptions.Credential(user: "u", password: "p")
            let request = LoaderRequest(url: server.url("/a"), options: options, shouldLoad: shouldLoad)
            return Download(downloader, request)
        }
        for text in ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:,a", "http://", "http:///a"] {
            let error = await load { _ in URL(string: text) }.failing()
            #expect(error?.code == .badRedirect || error?.code == .invalidURL, "\(text)")
        }
        #expect(await load { $0 }.failing()?.code == .badRedirect)
        #expect(server.requestCount(path: "/a") == 5 + 11)
        let refused = await load({ _ in other.url("/b") }, shouldLoad: { $0.port != Int(other.port) })
        #expect(await refused.failing()?.code == .invalidRequest)
        #expect(other.requests.isEmpty)
        // Secrets stay with the host that they are for.
        #expect(try await load { _ in other.url("/b") }.ending().data == Download.body)
        for name in ["authorization", "cookie", "x-key", "x-signature"] {
            #expect(other.requests.allSatisfy { $0.headers[name] == nil }, "\(name)")
        }
        #expect(try await load { _ in server.url("/end") }.ending().data == Download.body)
        #expect(server.requests.last?.headers["x-signature"] == "secret")
    }

    @Test("A redirect from https to http stays forbidden")
    func insecure() async throws {
        let nginx = try Nginx(files: ["a.bin": Data(count: 10)])
        for allows in [false, true] {
            let downloader = ImageDownloader.patient {
                $0.certificateAuthorityFile = nginx.authorityFile
                $0.allowsInsecureRedirects = allows
                $0.redirectHandler = { $0.target }
            }
            let error = await Download(downloader, nginx.url("insecure/a.bin", .good)).failing()
            #expect(error?.code == (allows ? nil : .badRedirect))
        }
    }

    @Test("A handler that hangs holds up no other load, and ends with its load")
    func hanging() async throws {
        let server = try server { $0.path.hasPrefix("/a") ? "/b" : nil }
        let (gate, ends) = (AsyncGate(), EventLog<Bool>())
        let downloader = ImageDownloader.patient {
            ($0.maximumConcurrentTransfers, $0.maximumTransfersPerHost, $0.rateLimit) = (1, 1, nil)
            $0.redirectHandler = { redirect in
                defer { ends.add(Task.isCancelled) }
                try await gate.wait()
                return redirect.target
            }
        }
        let held = (0..<20).map { Download(downloader, server.url("/a\($0)")) }
        #expect(await eventually { gate.waitingCount == 20 })
        #expect(try await Download(downloader, server.url("/c")).ending().data == Download.body)
        for download in held.prefix(10) { download.cancel() }
        #expect(await eventually { ends.all == Array(repeating: true, count: 10) })
        gate.open()
        for download in held.dropFirst(10) { #expect(try await download.ending().data == Download.body) }
        #expect(held.prefix(10).allSatisfy { $0.results.isEmpty })
        let closed = AsyncGate()
        downloader.configuration.redirectHandler = { redirect in
            try await closed.wait()
            return redirect.target
        }
        let impatient = Download(downloader, server.url("/a")) { $0.idleTimeout = .milliseconds(30) }
        #expect(await impatient.failing()?.code == .timedOut)
    }
}
