import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Events of the downloader")
struct EventTests {
    private func names(_ events: AsyncStream<ImageDownloader.Event>, count: Int) async -> [String] {
        var names: [String] = []
        for await event in events {
            switch event {
            case .started(let url): names.append("started \(url.path())")
            case .responded(let url, let response): names.append("responded \(url.path()) \(response.status)")
            case .stopped(let url, let error): names.append("stopped \(url.path()) \(error?.code.rawValue ?? 0)")
            case .finished(let url, _): names.append("finished \(url.path())")
            }
            if names.count == count { break }
        }
        return names
    }

    @Test("A transfer reports its start, response, stop and finish; a failed or cancelled one does not report a finish")
    func events() async throws {
        let gate = ServerGate()
        let server = try LocalImageServer { request in
            switch request.path {
            case "/a": return .redirect(to: "/b")
            case "/b": return .ok(Download.body, contentType: "image/png")
            case "/held":
                var response = ServerResponse.ok(Download.body, contentType: "image/png")
                response.faults.gate = gate
                return response
            default: return .notFound
            }
        }
        let downloader = ImageDownloader()
        let events = downloader.events()
        _ = try Download(downloader, server.url("/a")).end()
        _ = Download(downloader, server.url("/missing")).failure()
        let held = Download(downloader, server.url("/held"))
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        held.cancel()
        #expect(
            await names(events, count: 9) == [
                "started /a", "responded /a 200", "stopped /a 0", "finished /a",
                "started /missing", "responded /missing 404", "stopped /missing 2001",
                "started /held", "stopped /held 2002",
            ]
        )
    }

    @Test("A request that is not sent is neither started nor stopped")
    func unsent() async throws {
        let server = try LocalImageServer { _ in .ok(Download.body, contentType: "image/png") }
        let downloader = ImageDownloader()
        let events = downloader.events()
        let refusing = RequestModifier(key: "refusing") { _ in nil }
        _ = Download(downloader, server.url("/refused")) { $0.requestModifier = refusing }.failure()
        _ = Download(downloader, try #require(URL(string: "http:///hostless"))).failure()
        _ = try Download(downloader, server.url("/a")).end()
        #expect(await names(events, count: 4) == ["started /a", "responded /a 200", "stopped /a 0", "finished /a"])
    }

    @Test("Repeated fields of a response are joined")
    func repeated() async throws {
        let offers = ["h2=\":443\"; ma=60", "h3=\":443\"; ma=60"]
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            for offer in offers { response.headers.append(("Alt-Svc", offer)) }
            return response
        }
        let downloader = ImageDownloader()
        let events = downloader.events()
        _ = try Download(downloader, server.url("/a")).end()
        for await case .responded(_, let response) in events {
            #expect(response.headers["alt-svc"] == offers.joined(separator: ", "))
            break
        }
    }

    @Test("Metrics state where the time was spent and how much was received")
    func metrics() throws {
        let server = try LocalImageServer { request in
            if request.path == "/redirected" { return .redirect(to: "/a") }
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.faults.delay = .milliseconds(50)
            return response
        }
        let downloader = ImageDownloader()
        let first = try #require(try Download(downloader, server.url("/a")).end().metrics)
        #expect(!first.isReusedConnection && first.protocolName == "HTTP/1.1" && first.redirectCount == 0)
        #expect(first.receivedByteCount == 100_000 && first.cacheDecision == .fetched)
        #expect(first.firstByte >= .milliseconds(45) && first.firstByte <= first.total)
        #expect(first.nameLookup <= first.connect && first.connect <= first.secureConnect)
        let second = try #require(try Download(downloader, server.url("/redirected")).end().metrics)
        #expect(second.isReusedConnection && second.redirectCount == 1)
    }

    @Test("Metrics state that the server has confirmed the cached copy")
    func notModified() throws {
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            return response.conditional(on: request)
        }
        let downloader = ImageDownloader()
        func ask(_ etag: String) throws -> LoaderResult {
            let validators = ResponseMetadata.Validators(etag: etag, lastModified: nil)
            return try Download(downloader, LoaderRequest(url: server.url("/a"), validators: validators)).end()
        }
        let same = try ask("\"1\"")
        #expect(same.isNotModified && same.data.isEmpty && same.metrics?.cacheDecision == .notModified)
        let other = try ask("\"0\"")
        #expect(!other.isNotModified && other.data == Download.body && other.metrics?.cacheDecision == .replaced)
    }
}
