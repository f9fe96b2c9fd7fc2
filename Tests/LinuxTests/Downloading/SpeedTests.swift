import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageLinux

@Suite("The speed of transfers in the queue")
struct SpeedTests {
    @Test("Bytes that arrive at the socket count before libcurl hands them on, as with a record of TLS")
    func socketBytes() throws {
        // Given a line of the head that arrives byte by byte, and that libcurl hands on as a whole
        let server = try RawServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\nX-Long: ")
            for _ in 0..<30 {
                connection.write("x")
                connection.pause(milliseconds: 50)
            }
            connection.write("\r\n\r\nabc")
        }
        let downloader = ImageDownloader { $0.idleTimeout = .milliseconds(600) }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/a"))
        #expect(try Download(downloader, url).end().data.count == 3)
    }

    @Test("A request whose body takes long to send is not idle")
    func upload() throws {
        let byteCount = 6 << 20
        let server = try RawServer { connection in
            _ = connection.readHead()
            var rest = byteCount
            while rest > 0, case let count = connection.read(128 << 10), count > 0 {
                rest -= count
                connection.pause(milliseconds: 15)
            }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc")
        }
        let downloader = ImageDownloader {
            $0.idleTimeout = .milliseconds(600)
            $0.requestModifier = RequestModifier(key: "upload") { request in
                RequestModifier.Request(
                    url: request.url,
                    method: "POST",
                    headers: ["Expect": ""],
                    body: Data(count: byteCount)
                )
            }
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/a"))
        #expect(try Download(downloader, url).end().data.count == 3)
    }

    @Test("The speed is measured from the first byte on, and over https for as long as a slow record takes")
    func window() throws {
        let now = ContinuousClock.now
        for (scheme, window) in [("http", 5), ("https", 64)] {
            let url = try #require(URL(string: "\(scheme)://a.example/a"))
            let commands = CurlCommandQueue(.init(), .desktop, idleTime: .zero) { _ in 0 }
            let operation = CurlFetchOperation(LoaderRequest(url: url), commands) { _ in }
            let transfer = CurlTransfer(TransferKey(operation.request), number: 0, for: operation)
            _ = transfer.begin(ImageDownloader.Configuration(), resuming: nil)
            let exchange = try #require(transfer.exchange)
            // Nothing is too slow before the first byte has arrived.
            #expect(!exchange.isTooSlow(now: now) && !exchange.isTooSlow(now: now + .seconds(100)))
            _ = [UInt8](repeating: 0x61, count: 100).withUnsafeBytes { exchange.receiveHeaderLine($0) }
            #expect(!exchange.isTooSlow(now: now))
            #expect(!exchange.isTooSlow(now: now + .seconds(window) - .milliseconds(1)))
            // A record a window is enough.
            exchange.bodyByteCount += 16 << 10
            #expect(!exchange.isTooSlow(now: now + .seconds(window)))
            #expect(exchange.isTooSlow(now: now + .seconds(2 * window)))
            withExtendedLifetime(transfer) {}
        }
    }

    private func drippingServer() throws -> LocalImageServer {
        try LocalImageServer { _ in
            var response = ServerResponse.ok(Data(count: 1000), contentType: "image/png")
            response.faults.drip = (bytes: 1, every: .milliseconds(50))
            return response
        }
    }

    /// The URL of a server under another name, which counts as another host.
    private func url(_ path: String, on server: LocalImageServer) throws -> URL {
        try #require(URL(string: "http://localhost:\(server.port)\(path)"))
    }

    @Test("A transfer that drips is ended only for one that is as urgent")
    func priority() throws {
        let slow = try drippingServer()
        let quick = try LocalImageServer { _ in .ok(Data(count: 10), contentType: "image/png") }
        let downloader = ImageDownloader {
            ($0.maximumConcurrentTransfers, $0.maximumTransfersPerHost) = (2, 2)
            $0.idleTimeout = .milliseconds(1500)
        }
        let dripping = (0..<2).map { Download(downloader, slow.url("/\($0)"), priority: .high) }
        for download in dripping { download.events.wait { $0.count > 2 } }
        let waiting = try Download(downloader, url("/a", on: quick), priority: .low)
        // Forty pieces take four times as long as the speed is measured.
        for download in dripping { download.events.wait { $0.count > 42 } }
        #expect(dripping.allSatisfy { $0.results.isEmpty } && waiting.results.isEmpty)
        waiting.setPriority(.high)
        _ = try waiting.end()
        #expect(dripping.filter { !$0.results.isEmpty }.map { $0.failure()?.code } == [.timedOut])
        for download in dripping { download.cancel() }
    }

    @Test(
        "A host that has less than its share of the room gets more, at the cost of one that drips",
        .timeLimit(.minutes(4))
    )
    func share() throws {
        let gate = ServerGate()
        let slow = try drippingServer()
        let quick = try LocalImageServer { request in
            var response = ServerResponse.ok(Data(count: 10), contentType: "image/png")
            if request.path == "/long" { response.faults.gate = gate }
            return response
        }
        let downloader = ImageDownloader {
            ($0.maximumConcurrentTransfers, $0.maximumTransfersPerHost) = (4, 4)
            $0.idleTimeout = .seconds(6)
        }
        let dripping = (0..<3).map { Download(downloader, slow.url("/\($0)")) }
        for download in dripping { download.events.wait { $0.count > 2 } }
        let long = try Download(downloader, url("/long", on: quick))
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        _ = try Download(downloader, url("/a", on: quick)).end()
        #expect(dripping.filter { !$0.results.isEmpty }.map { $0.failure()?.code } == [.timedOut])
        gate.open()
        _ = try long.end()
        for download in dripping { download.cancel() }
    }
}
