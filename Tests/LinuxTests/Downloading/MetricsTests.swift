import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Metrics of a transfer")
struct MetricsTests {
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
