import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Request modifiers that wait")
struct AsyncModifierTests {
    private func server() throws -> LocalImageServer {
        try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
    }

    /// A modifier that sets a field after the gate is open.
    private func waiting(for gate: AsyncGate, key: String = "waiting") -> RequestModifier {
        RequestModifier(key: key) { request in
            try await gate.wait()
            var request = request
            request.headers["X-Signed"] = request.url.path()
            return request
        }
    }

    @Test("What a modifier waits for is part of the request, and loads with equal keys wait once")
    func signed() async throws {
        let (server, gate, calls) = (try server(), AsyncGate(), EventLog<String>())
        let modifier = RequestModifier(key: "token") { request in
            calls.add(request.headers["X-Plain"] ?? "")
            try await gate.wait()
            var request = request
            request.headers["Authorization"] = "Bearer 1"
            return request
        }
        let downloader = ImageDownloader.patient()
        let downloads = (0..<3).map { _ in
            Download(downloader, server.url("/a")) {
                $0.headers["X-Plain"] = "plain"
                $0.requestModifier = modifier
            }
        }
        #expect(await eventually { gate.waitingCount == 1 && downloader.transferCounts == (0, 1) })
        gate.open()
        for download in downloads { #expect(try await download.ending().data == Download.body) }
        #expect(calls.all == ["plain"])
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer 1"])
    }

    @Test("Modifiers that hang hold up no other load, even of the same host")
    func hanging() async throws {
        let (server, gate) = (try server(), AsyncGate())
        let downloader = ImageDownloader.patient {
            ($0.maximumConcurrentTransfers, $0.maximumTransfersPerHost, $0.rateLimit) = (1, 1, nil)
        }
        // Given many loads whose modifiers wait
        let held = (0..<100).map { number in
            Download(downloader, server.url("/held\(number)"), priority: .veryHigh) {
                $0.requestModifier = waiting(for: gate, key: "\(number % 2)")
            }
        }
        #expect(await eventually { gate.waitingCount == 100 })
        // Then others load meanwhile
        for number in 0..<5 {
            let plain = Download(downloader, server.url("/plain\(number)"), priority: .veryLow)
            #expect(try await plain.ending().data == Download.body)
        }
        let signed = Download(downloader, server.url("/signed")) { $0.requestModifier = .headers(["X-Signed": "1"]) }
        #expect(try await signed.ending().data == Download.body)
        #expect(server.requests.count == 6)
        // When they go on, each sends its request, one at a time
        gate.open()
        for download in held { #expect(try await download.ending().data == Download.body) }
        #expect(server.requests.dropFirst(6).allSatisfy { $0.headers["x-signed"] == $0.path })
        #expect(server.requests.count == 106 && server.totalConnections == 1)
    }

    @Test("Cancelling the last of the loads that share a modifier cancels it")
    func cancelled() async throws {
        let (server, gate, ends) = (try server(), AsyncGate(), EventLog<Bool>())
        let modifier = RequestModifier(key: "held") { request in
            defer { ends.add(Task.isCancelled) }
            try await gate.wait()
            return request
        }
        let downloader = ImageDownloader.patient()
        func load() -> Download { Download(downloader, server.url("/a")) { $0.requestModifier = modifier } }
        let (first, second) = (load(), load())
        #expect(await eventually { gate.waitingCount == 1 })
        first.cancel()
        // The network thread has taken note of the cancel before it starts another load.
        #expect(try await Download(downloader, server.url("/b")).ending().data == Download.body)
        #expect(ends.all.isEmpty)
        second.cancel()
        #expect(await eventually { ends.all == [true] })
        #expect(await eventually { downloader.transferCounts == (0, 0) })
        #expect(first.results.isEmpty && second.results.isEmpty)
        #expect(server.requests.map(\.path) == ["/b"])
    }

    @Test("A modifier that does not answer in time fails its load and is cancelled", arguments: [true, false])
    func late(isIdle: Bool) async throws {
        let (server, gate, ends) = (try server(), AsyncGate(), EventLog<Bool>())
        let modifier = RequestModifier(key: "late") { request in
            defer { ends.add(Task.isCancelled) }
            try await gate.wait()
            return request
        }
        let download = Download(.patient(), server.url("/a")) {
            $0.requestModifier = modifier
            if isIdle { $0.idleTimeout = .milliseconds(50) } else { $0.totalTimeout = .milliseconds(50) }
        }
        let error = try #require(await download.failing())
        #expect(error.code == .timedOut && error.reason.contains("modifier late") && error.url == server.url("/a"))
        #expect(await eventually { ends.all == [true] })
        #expect(server.requests.isEmpty)
    }

    private struct NoToken: Error, CustomStringConvertible { let description = "The session has ended" }

    @Test("An error of a modifier is that of the load")
    func failing() async throws {
        let server = try server()
        let own = ImageError(.offline, url: nil, reason: "No token", remedy: "Sign in.")
        let cases: [(any Error, ImageError.Code)] = [(own, .offline), (NoToken(), .invalidRequest)]
        for (failure, code) in cases {
            let modifier = RequestModifier(key: "failing") { _ in throw failure }
            let error = await Download(.patient(), server.url("/a")) { $0.requestModifier = modifier }.failing()
            #expect(error?.code == code)
            guard code == .invalidRequest else { continue }
            #expect(error?.url == server.url("/a") && error?.reason.contains("The session has ended") == true)
            #expect(error?.remedy.isEmpty == false)
        }
        let refusing = RequestModifier(key: "refusing") { _ in
            await Task.yield()
            return nil
        }
        #expect(
            await Download(.patient(), server.url("/a")) { $0.requestModifier = refusing }.failing()?.code
                == .invalidRequest
        )
        #expect(server.requests.isEmpty)
    }

    @Test("Modifiers of both kinds are applied one after the other")
    func composed() async throws {
        let server = try server()
        func adding(_ text: String, waits: Bool) -> RequestModifier {
            @Sendable func change(_ request: RequestModifier.Request) -> RequestModifier.Request {
                var request = request
                request.headers["X-Steps"] = (request.headers["X-Steps"] ?? "") + text
                return request
            }
            guard waits else { return RequestModifier(key: text) { change($0) } }
            return RequestModifier(key: text) { request in
                await Task.yield()
                return change(request)
            }
        }
        let modifiers = [true, false].flatMap { first in
            [true, false].map { adding("1", waits: first).then(adding("2", waits: $0)).then(adding("3", waits: true)) }
        }
        for modifier in modifiers {
            _ = try await Download(.patient(), server.url("/a")) { $0.requestModifier = modifier }.ending()
        }
        #expect(server.requests.map { $0.headers["x-steps"] } == ["123", "123", "123", "123"])
        #expect(adding("1", waits: true) == adding("1", waits: false))
    }

    @Test("A redirect to the same origin is modified too, one to another origin is not")
    func redirected() async throws {
        let other = try server()
        let server = try LocalImageServer { request in
            request.path == "/a" ? .redirect(to: "/b") : .redirect(to: other.url("/c").absoluteString)
        }
        let gate = AsyncGate()
        gate.open()
        let download = Download(.patient(), server.url("/a")) { $0.requestModifier = waiting(for: gate) }
        #expect(try await download.ending().data == Download.body)
        #expect(server.requests.map { $0.headers["x-signed"] } == ["/a", "/b"])
        #expect(other.requests.map { $0.headers["x-signed"] } == [nil])
    }

    @Test("A downloader that is released completes the loads whose modifiers wait, and a suspended one asks none")
    func released() async throws {
        let (server, gate, calls) = (try server(), AsyncGate(), EventLog<Int>())
        var downloader: ImageDownloader? = ImageDownloader.patient()
        let held = Download(try #require(downloader), server.url("/a")) { $0.requestModifier = waiting(for: gate) }
        #expect(await eventually { gate.waitingCount == 1 })
        downloader?.isSuspended = true
        let counting = RequestModifier(key: "counting") { request in
            calls.add(1)
            await Task.yield()
            return request
        }
        let suspended = Download(try #require(downloader), server.url("/b")) { $0.requestModifier = counting }
        #expect(await eventually { downloader?.transferCounts.waiting == 2 })
        suspended.cancel()
        downloader?.isSuspended = false
        downloader = nil
        gate.open()
        #expect(try await held.ending().data == Download.body)
        #expect(calls.all.isEmpty)
    }

    @Test("Many loads that wait, fail and are cancelled in any order each end once")
    func storm() async throws {
        let server = try server()
        let downloader = ImageDownloader.patient { $0.rateLimit = nil }
        var generator = SeededGenerator(seed: 7)
        let kinds = (0..<500).map { _ in Int.random(in: 0..<4, using: &generator) }
        let downloads = kinds.enumerated().map { number, kind in
            let modifier = RequestModifier(key: "\(number)") { request in
                for _ in 0..<number % 7 { await Task.yield() }
                if kind == 1 { throw NoToken() }
                return kind == 2 ? nil : request
            }
            return Download(downloader, server.url("/\(number)")) { $0.requestModifier = modifier }
        }
        for (download, kind) in zip(downloads, kinds) where kind == 3 { download.cancel() }
        for (download, kind) in zip(downloads, kinds) where kind < 3 {
            #expect((await download.failing() == nil) == (kind == 0))
        }
        #expect(await eventually { downloader.transferCounts == (0, 0) })
        #expect(downloads.allSatisfy { $0.results.count <= 1 })
    }
}
