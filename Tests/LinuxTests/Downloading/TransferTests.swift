import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Transfers over HTTP with libcurl")
struct TransferTests {
    private static func ok(_ change: (inout ServerFaults) -> Void = { _ in }) -> ServerResponse {
        var response = ServerResponse.ok(Download.body, contentType: "image/png")
        change(&response.faults)
        return response
    }

    @Test("A load delivers the whole body, the header fields, progress and one result")
    func body() throws {
        let server = try LocalImageServer { _ in
            ServerResponse(
                status: 200,
                headers: [
                    ("Content-Type", "image/png"), ("ETag", "\"x\""), ("Cache-Control", "max-age=60"),
                    ("cache-control", "private"), ("Last-Modified", "Sat, 21 Nov 2026 00:00:00 GMT"),
                    ("Age", "7"), ("Expires", "0"), ("Date", "Saturday, 21-Nov-26 00:00:10 GMT"),
                    ("Vary", "Accept, X-Theme"),
                ],
                body: Download.body
            )
        }
        let download = Download(ImageDownloader(), server.url("/a?b=c"))
        let loaded = try download.end()
        #expect(loaded.data == Download.body)
        #expect(loaded.metadata.contentType == "image/png")
        #expect(loaded.metadata.etag == "\"x\"")
        #expect(loaded.metadata.cacheControl == "max-age=60, private")
        #expect(loaded.metadata.lastModified == "Sat, 21 Nov 2026 00:00:00 GMT")
        #expect(loaded.metadata.lastModifiedDate == Date(timeIntervalSince1970: 1_795_219_200))
        #expect(loaded.metadata.date == Date(timeIntervalSince1970: 1_795_219_210))
        #expect(loaded.metadata.age == 7 && loaded.metadata.expires == .distantPast)
        #expect(loaded.metadata.vary.map { Set($0.keys) } == ["accept", "x-theme"])
        #expect(download.progress.last?.received == 100_000 && download.progress.last?.expected == 100_000)
        #expect(download.pieces.isEmpty)
        #expect(server.requests[0].target == "/a?b=c")
        #expect(server.requests[0].headers["user-agent"]?.contains("GtkWebImage/") == true)
    }

    @Test("Loads of a URL share one transfer, and a late stream gets all bytes")
    func coalescing() throws {
        let gate = ServerGate()
        let server = try LocalImageServer { _ in Self.ok { $0.bodyGate = (afterBytes: 50_000, gate: gate) } }
        let downloader = ImageDownloader()
        let downloads = (0..<10).map { _ in Download(downloader, server.url("/a")) }
        downloads[0].events.wait { !$0.isEmpty }
        let late = Download(downloader, server.url("/a"), wantsData: true)
        late.events.wait { events in events.contains { if case .data = $0 { true } else { false } } }
        gate.open()
        for download in downloads + [late] {
            #expect(try download.end().data == Download.body)
            #expect(download.results.count == 1)
        }
        #expect(late.pieces == Download.body)
        #expect(server.requests.count == 1)
    }

    @Test("Requests with different options do not share a transfer")
    func differing() throws {
        let gate = ServerGate()
        let server = try LocalImageServer { _ in Self.ok { $0.gate = gate } }
        let downloader = ImageDownloader()
        let downloads = ["a", "b"].map { name in Download(downloader, server.url("/a")) { $0.headers["X-User"] = name }
        }
        #expect(EventLog<Int>.poll { gate.waitingCount == 2 })
        gate.open()
        for download in downloads { #expect(try download.end().data == Download.body) }
        #expect(Set(server.requests.map { $0.headers["x-user"] }) == ["a", "b"])
    }

    @Test("A hundred successive requests use one connection")
    func keepAlive() throws {
        let server = try LocalImageServer { _ in Self.ok() }
        let downloader = ImageDownloader()
        for index in 0..<100 {
            #expect(try Download(downloader, server.url("/\(index)")).end().data == Download.body)
        }
        #expect(server.totalConnections == 1)
    }

    @Test("The connection stays open after an error page")
    func keepAliveAfterError() throws {
        let server = try LocalImageServer { _ in .notFound }
        let downloader = ImageDownloader()
        for _ in 0..<5 { #expect(Download(downloader, server.url("/a")).failure()?.httpStatus == 404) }
        #expect(server.totalConnections == 1)
    }

    @Test("A transfer stops when its last load is cancelled, and not before")
    func cancel() throws {
        let gate = ServerGate()
        let server = try LocalImageServer { _ in Self.ok { $0.gate = gate } }
        let downloader = ImageDownloader()
        let stays = Download(downloader, server.url("/a"))
        let leaves = Download(downloader, server.url("/a"))
        let alone = Download(downloader, server.url("/b"))
        #expect(EventLog<Int>.poll { gate.waitingCount == 2 })
        leaves.cancel()
        alone.cancel()
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        gate.open()
        #expect(try stays.end().data == Download.body)
        #expect(leaves.events.all.isEmpty)
    }

    @Test("Ten thousand starts and cancels leak no transfer, connection or memory")
    func storm() throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 100), contentType: "image/png") }
        let downloader = ImageDownloader()
        let kept = (0..<10_000).map { number in
            let download = Download(downloader, server.url("/\(number % 100)"))
            download.cancel()
            return Weak(download.events)
        }
        #expect(try Download(downloader, server.url("/last")).end().data.count == 100)
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 0) })
        #expect(EventLog<Int>.poll { server.openConnections <= 6 })
        // The downloader releases the objects that the closures capture.
        #expect(EventLog<Int>.poll { kept.allSatisfy { $0.object == nil } })
    }

    @Test(
        "A body without Content-Length arrives whole, in chunks or up to the end of the connection",
        arguments: [true, false]
    )
    func noLength(isChunked: Bool) throws {
        let server = try LocalImageServer { _ in
            Self.ok {
                $0.isChunked = isChunked
                $0.endsWithConnection = !isChunked
            }
        }
        let download = Download(ImageDownloader(), server.url("/a"))
        #expect(try download.end().data == Download.body)
        #expect(download.progress.allSatisfy { $0.expected == nil })
    }

    @Test("A slow body arrives whole")
    func drip() throws {
        let server = try LocalImageServer { _ in
            Self.ok {
                $0.delay = .milliseconds(30)
                $0.drip = (bytes: 20_000, every: .milliseconds(5))
            }
        }
        #expect(try Download(ImageDownloader(), server.url("/a")).end().data == Download.body)
    }

    @Test(
        "A reset connection and a body that is too short are reported as incomplete transfers",
        arguments: [true, false]
    )
    func cutOff(isReset: Bool) throws {
        let server = try LocalImageServer { _ in
            Self.ok { if isReset { $0.resetAfterBytes = 50_000 } else { $0.declaredLength = 200_000 } }
        }
        let error = Download(ImageDownloader(), server.url("/a")).failure()
        #expect(error?.code == .transferIncomplete && error?.isTransient == true, "\(String(describing: error))")
    }

    @Test(
        "A stalled transfer fails after the time limit of the downloader or of the request"
    )
    func stall() throws {
        let server = try LocalImageServer { _ in Self.ok { $0.stallAfterBytes = 1000 } }
        let short = ImageDownloader { $0.idleTimeout = .seconds(1) }
        #expect(Download(short, server.url("/a")).failure()?.code == .timedOut)
        let download = Download(ImageDownloader(), server.url("/a")) { $0.totalTimeout = .milliseconds(200) }
        #expect(download.failure()?.code == .timedOut)
    }

    @Test("The time limit without bytes begins at the last ones")
    func idle() throws {
        let server = try LocalImageServer { _ in Self.ok { $0.stallAfterBytes = 60_000 } }
        let downloader = ImageDownloader { $0.idleTimeout = .milliseconds(300) }
        let time = ContinuousClock().measure {
            #expect(Download(downloader, server.url("/a")).failure()?.code == .timedOut)
        }
        #expect(time >= .milliseconds(300))
        // Bytes that keep coming extend it.
        let slow = try LocalImageServer { _ in Self.ok { $0.drip = (bytes: 20_000, every: .milliseconds(200)) } }
        #expect(try Download(downloader, slow.url("/a")).end().data == Download.body)
    }

    @Test("The redirects of a transfer share its time limit")
    func limitOfRedirects() throws {
        let server = try LocalImageServer { request in
            let number = Int(request.path.dropFirst()) ?? 0
            var response = number < 6 ? ServerResponse.redirect(to: "/\(number + 1)") : Self.ok { _ in }
            response.faults.delay = .milliseconds(200)
            return response
        }
        let download = Download(ImageDownloader(), server.url("/0")) { $0.totalTimeout = .seconds(1) }
        #expect(download.failure()?.code == .timedOut)
    }

    @Test("A reply that is not HTTP is an error that says so")
    func garbage() throws {
        let server = try LocalImageServer { _ in
            Self.ok { $0.rawResponse = Data("\u{1}\u{2}\u{3} hello\r\n\r\n".utf8) }
        }
        let error = Download(ImageDownloader(), server.url("/a")).failure()
        #expect(error?.code == .badResponse || error?.code == .connectionFailed, "\(String(describing: error))")
    }

    @Test("An unknown host and a refused connection are different errors")
    func nobody() throws {
        let unknown = URL(string: "http://nowhere.invalid/a.png")!
        let error = Download(ImageDownloader(), unknown).failure()
        #expect(error?.code == .hostNotFound && error?.url == unknown)
        let server = try LocalImageServer { _ in .notFound }
        server.stop()
        let closed = server.url("/a")
        #expect(EventLog<Int>.poll { !LocalPort.isOpen(server.port) })
        #expect(Download(ImageDownloader(), closed).failure()?.code == .connectionFailed)
    }

    @Test("A released downloader completes its transfers and then closes its connections")
    func dropped() throws {
        let gate = ServerGate()
        let server = try LocalImageServer { _ in Self.ok { $0.gate = gate } }
        var downloader: ImageDownloader? = ImageDownloader()
        let download = Download(downloader!, server.url("/a"))
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        downloader = nil
        gate.open()
        #expect(try download.end().data == Download.body)
        #expect(EventLog<Int>.poll { server.openConnections == 0 })
    }

    @Test("A large body is kept in a file and arrives whole")
    func spilled() throws {
        let large = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        let server = try LocalImageServer { _ in .ok(large, contentType: "image/png") }
        let downloader = ImageDownloader { $0.inMemoryBodyLimit = 100_000 }
        let download = Download(downloader, server.url("/a"), wantsData: true)
        #expect(try download.end().data == large)
        #expect(download.pieces == large)
    }

    private struct Weak {
        weak var object: EventLog<LoaderEvent>?

        init(_ object: EventLog<LoaderEvent>) {
            self.object = object
        }
    }
}
