import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Resuming interrupted transfers")
struct ResumeTests {
    private static let rest = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 29) })

    /// Makes a server whose first response is interrupted.
    private func server(
        etag: String? = "\"1\"",
        lastModified: String? = nil,
        date: String? = nil,
        laterETag: String? = nil,
        later: Data = Download.body,
        knowsRanges: Bool = true
    ) throws -> LocalImageServer {
        let isFirst = Mutex(true)
        return try LocalImageServer { request in
            let breaksOff = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            var response = ServerResponse.ok(breaksOff ? Download.body : later, contentType: "image/png")
            if let etag { response.headers.append(("ETag", breaksOff ? etag : laterETag ?? etag)) }
            if let lastModified { response.headers.append(("Last-Modified", lastModified)) }
            if let date { response.headers.append(("Date", date)) }
            if breaksOff { response.faults.closeAfterBytes = 60_000 }
            return knowsRanges ? response.conditional(on: request) : response
        }
    }

    /// Loads twice, where the first load is interrupted, and returns the second.
    private func secondLoad(_ server: LocalImageServer, _ downloader: ImageDownloader = ImageDownloader()) throws
        -> Download
    {
        #expect(Download(downloader, server.url("/a")).failure()?.code == .transferIncomplete)
        return Download(downloader, server.url("/a"), wantsData: true)
    }

    @Test("A body is resumed on a metered network, but not for a client that accepts other formats")
    func metered() throws {
        let (server, downloader) = (try server(), ImageDownloader())
        var request = LoaderRequest(url: server.url("/a"))
        #expect(Download(downloader, request).failure()?.code == .transferIncomplete)
        request.defaultHeaders["Accept"] = "image/webp"
        #expect(try Download(downloader, request).end().metrics?.cacheDecision == .fetched)
        request = LoaderRequest(url: server.url("/a"))
        request.defaultHeaders["Save-Data"] = "on"
        #expect(try Download(downloader, request).end().metrics?.cacheDecision == .resumed(60_000))
        #expect(server.requests.map { $0.headers["save-data"] } == [nil, nil, "on"])
    }

    @Test("The rest of an interrupted body is requested and appended", arguments: [true, false])
    func resumed(hasETag: Bool) throws {
        let date = "Sat, 21 Nov 2020 00:00:00 GMT"
        let server = try server(etag: hasETag ? "\"1\"" : nil, lastModified: date)
        let download = try secondLoad(server)
        let loaded = try download.end()
        #expect(loaded.data == Download.body)
        #expect(download.pieces == Download.body)
        #expect(download.progress.last?.received == 100_000 && download.progress.last?.expected == 100_000)
        let headers = server.requests[1].headers
        #expect(headers["if-range"] == (hasETag ? "\"1\"" : date))
        let start = try #require(headers["range"].flatMap { Int64($0.dropFirst(6).dropLast()) })
        #expect(start == 60_000)
        #expect(loaded.metrics?.cacheDecision == .resumed(start))
        #expect(loaded.metrics?.receivedByteCount == 100_000 - start)
        // A completed body is not resumed again.
        _ = try Download(ImageDownloader(), server.url("/a")).end()
        #expect(server.requests[2].headers["range"] == nil)
    }

    @Test("A resumed body is requested unencoded, also where the app has chosen the codings")
    func unencoded() throws {
        for name in ["Accept-Encoding", "accept-encoding"] {
            let server = try server()
            let downloader = ImageDownloader()
            func load() -> Download { Download(downloader, server.url("/a")) { $0.headers[name] = "gzip" } }
            #expect(load().failure()?.code == .transferIncomplete)
            #expect(try load().end().data == Download.body)
            let headers = server.requests[1].headers
            #expect(headers["range"] != nil && headers["accept-encoding"] == nil)
        }
    }

    @Test("A changed resource is loaded from the start")
    func changed() throws {
        let server = try server(laterETag: "\"2\"", later: Self.rest)
        let loaded = try secondLoad(server).end()
        #expect(loaded.data == Self.rest && loaded.metrics?.cacheDecision == .fetched)
        #expect(server.requests.count == 2)
    }

    @Test("A resource that has become shorter is requested again from the start")
    func shorter() throws {
        let server = try server(later: Data(Self.rest.prefix(1000)))
        #expect(try secondLoad(server).end().data == Self.rest.prefix(1000))
        #expect(server.requests.map { $0.headers["range"] == nil } == [true, false, true])
    }

    @Test("A server without range support sends the whole body")
    func noRanges() throws {
        let server = try server(knowsRanges: false)
        #expect(try secondLoad(server).end().data == Download.body)
        #expect(server.requests.count == 2)
    }

    @Test("A range other than the requested one is not used")
    func wrongPart() throws {
        let count = Mutex(0)
        let server = try LocalImageServer { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            if number == 1 { response.faults.closeAfterBytes = 60_000 }
            guard number == 2 else { return response }
            response.status = 206
            response.headers.append(("Content-Range", "bytes 5-99999/100000"))
            return response
        }
        #expect(try secondLoad(server).end().data == Download.body)
        #expect(server.requests.count == 3)
    }

    /// Sends the first bytes of a body, then a part with any Content-Range, then the body of another version.
    private func otherRest(
        _ range: String,
        _ rest: Data,
        etag: String? = "\"1\"",
        dates: (first: String, later: String)? = nil,
        isChunked: Bool = false,
        repeatsTag: Bool = true
    ) throws -> LocalImageServer {
        let count = Mutex(0)
        return try LocalImageServer { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            var response = ServerResponse.ok(number == 1 ? Download.body : Self.rest, contentType: "image/png")
            if let etag { response.headers.append(("ETag", etag)) }
            if let dates { response.headers.append(("Last-Modified", dates.first)) }
            if number == 1 { (response.faults.closeAfterBytes, response.faults.isChunked) = (60_000, isChunked) }
            guard number == 2 else { return response }
            response = ServerResponse(status: 206, headers: [("Content-Range", range)], body: rest)
            if let etag, repeatsTag { response.headers.append(("ETag", etag)) }
            if let dates { response.headers.append(("Last-Modified", dates.later)) }
            response.faults.isChunked = isChunked
            return response
        }
    }

    @Test(
        "The rest of a body of another length, or a part with other numbers, is not appended",
        arguments: [
            "bytes 60000-99998/99999", "bytes 60000-100999/101000", "bytes 60000-99999/-9223372036854775808",
            "bytes 60000-99999/9223372036854775807", "bytes 60000-99999/99999999999999999999999",
            "bytes 60000-70000/100000",
            "bytes 60000-99999/*", "bytes */100000", "bytes -1-99999/100000", "bytes 60000-/100000",
            "bytes 60000-59999/60000",
            "bytes +60000-99999/100000", "bytes 60000-99999/0", "bytes 60000", "bytes ", "bytes 60000-99999/100000/7",
            "bytes 9223372036854775807-9223372036854775807/9223372036854775807", "items 60000-99999/100000",
        ]
    )
    func hostileRange(range: String) throws {
        let server = try otherRest(range, Data(Self.rest.suffix(40_000)))
        #expect(try secondLoad(server).end().data == Self.rest)
        #expect(server.requests.map { $0.headers["range"] == nil } == [true, false, true])
    }

    private static let (oldDate, newDate) = ("Sat, 21 Nov 2020 00:00:00 GMT", "Sun, 22 Nov 2020 00:00:00 GMT")

    @Test("The rest of a body that has changed since, by its date, is not appended", arguments: [oldDate, newDate])
    func otherDate(later: String) throws {
        let rest = Data(Self.rest.suffix(40_000))
        let server = try otherRest("bytes 60000-99999/100000", rest, etag: nil, dates: (Self.oldDate, later))
        let loaded = try secondLoad(server).end().data
        #expect(loaded == (later == Self.oldDate ? Download.body.prefix(60_000) + rest : Self.rest))
    }

    @Test(
        "A rest that shows neither the length nor the tag of its beginning is not appended",
        arguments: [nil, "\"1\""]
    )
    func noLength(etag: String?) throws {
        let rest = Data(Self.rest.suffix(40_000))
        let dates = (Self.oldDate, Self.oldDate)
        let server = try otherRest(
            "bytes 60000-99999/100000",
            rest,
            etag: etag,
            dates: dates,
            isChunked: true,
            repeatsTag: false
        )
        #expect(try secondLoad(server).end().data == Self.rest)
    }

    @Test("A rest that does not repeat the tag of its beginning is not appended, whatever its length and its date")
    func noTag() throws {
        let rest = Data(Self.rest.suffix(40_000))
        let dates = (Self.oldDate, Self.oldDate)
        let server = try otherRest("bytes 60000-99999/100000", rest, dates: dates, repeatsTag: false)
        #expect(try secondLoad(server).end().data == Self.rest)
    }

    @Test("A part is not continued at another URL, which may use the same tag for another image")
    func otherURL() throws {
        let target = Mutex("/first")
        let server = try LocalImageServer { request in
            guard request.path != "/a" else { return .redirect(to: target.withLock { $0 }) }
            let isFirst = request.path == "/first"
            var response = ServerResponse.ok(isFirst ? Download.body : Self.rest, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            if isFirst, request.headers["range"] == nil { response.faults.closeAfterBytes = 60_000 }
            return response.conditional(on: request)
        }
        let downloader = ImageDownloader()
        #expect(Download(downloader, server.url("/a")).failure()?.code == .transferIncomplete)
        target.withLock { $0 = "/second" }
        #expect(try Download(downloader, server.url("/a")).end().data == Self.rest)
        #expect(server.requests.allSatisfy { $0.headers["range"] == nil })
    }

    @Test("A part that is longer than it says, which a chunked one can be, fails and is not kept")
    func longPart() throws {
        let server = try otherRest("bytes 60000-99999/100000", Data(Self.rest.suffix(41_000)))
        let downloader = ImageDownloader()
        let failure = try secondLoad(server, downloader).failure()
        #expect(failure?.code == .transferIncomplete && failure?.reason.contains("more") == true)
        #expect(try Download(downloader, server.url("/a")).end().data == Self.rest)
        #expect(server.requests[2].headers["range"] == nil)
    }

    @Test("A part that goes on after its end is given up there, also when the server never ends it")
    func endlessPart() throws {
        let server = try RawServer { connection in
            let isWhole = !connection.readHead().lowercased().contains("\r\nrange:")
            guard !isWhole else {
                let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 100000\r\n\r\n"
                return connection.write(head + String(repeating: "x", count: 60_000))
            }
            let range = "Content-Range: bytes 60000-99999/100000"
            connection.write("HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\n\(range)\r\n\r\n")
            connection.write(String(repeating: "x", count: 41_000))
            // The connection stays until the client closes it.
            while connection.read(1000) > 0 {}
        }
        let downloader = ImageDownloader()
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/a"))
        #expect(Download(downloader, url).failure()?.code == .transferIncomplete)
        let second = Download(downloader, url, wantsData: true)
        let failure = second.failure()
        #expect(failure?.code == .transferIncomplete && failure?.reason.contains("more") == true)
        #expect(second.pieces.count <= 100_000)
    }

    @Test("A part that is shorter than it says is incomplete")
    func shortPart() throws {
        let server = try otherRest("bytes 60000-99999/100000", Data(Self.rest.suffix(100)))
        #expect(try secondLoad(server).failure()?.code == .transferIncomplete)
    }

    @Test("A date that may stand for two versions is no condition of a range", arguments: [30, 90])
    func weakDate(seconds: Int) throws {
        let server = try server(
            etag: nil,
            lastModified: "Sat, 21 Nov 2020 00:00:00 GMT",
            date: "Sat, 21 Nov 2020 00:0\(seconds / 60):\(seconds % 60) GMT"
        )
        #expect(try secondLoad(server).end().data == Download.body)
        #expect((server.requests[1].headers["range"] != nil) == (seconds == 90))
    }

    @Test("A body without a strong validator is not resumed", arguments: [nil, "W/\"1\""])
    func noValidator(etag: String?) throws {
        let server = try server(etag: etag)
        #expect(try secondLoad(server).end().data == Download.body)
        #expect(server.requests[1].headers["range"] == nil)
    }

    @Test("A cancelled transfer is resumed too, even when its body is in a file")
    func cancelled() throws {
        let gate = ServerGate()
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            response.faults.bodyGate = (afterBytes: 60_000, gate: gate)
            return response.conditional(on: request)
        }
        let downloader = ImageDownloader { $0.inMemoryBodyLimit = 10_000 }
        let first = Download(downloader, server.url("/a"))
        first.events.wait { events in
            events.contains { if case .progress(let received, _) = $0 { received == 60_000 } else { false } }
        }
        first.cancel()
        #expect(EventLog<Int>.poll { downloader.transferCounts == (0, 0) })
        gate.open()
        #expect(try Download(downloader, server.url("/a")).end().data == Download.body)
        #expect(server.requests[1].headers["range"] == "bytes=60000-")
    }

    @Test("A load that its request modifier refuses loses no interrupted body")
    func refused() throws {
        let (server, downloader, calls) = (try server(), ImageDownloader(), EventLog<Int>())
        let modifier = RequestModifier(key: "refusal") { request in
            calls.add(0)
            return calls.all.count == 2 ? nil : request
        }
        func load() -> Download { Download(downloader, server.url("/a")) { $0.requestModifier = modifier } }
        #expect(load().failure()?.code == .transferIncomplete)
        #expect(load().failure()?.code == .invalidRequest)
        #expect(try load().end().metrics?.cacheDecision == .resumed(60_000))
    }

    @Test(
        "Interrupted bodies are kept up to a limit",
        arguments: [(0, false), (50_000, false), (60_000, true), (.max, true)]
    )
    func bounded(limit: Int, isContinued: Bool) throws {
        let server = try server()
        let downloader = ImageDownloader { $0.resumableByteCount = limit }
        let loaded = try secondLoad(server, downloader).end()
        #expect(loaded.data == Download.body)
        #expect((server.requests[1].headers["range"] != nil) == isContinued)
    }

    @Test("Each interrupted body counts with what it takes beside its bytes, and the oldest are dropped first")
    func small() throws {
        // Given three small bodies, with room for two
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            if request.headers["range"] == nil { response.faults.closeAfterBytes = 2000 }
            return response.conditional(on: request)
        }
        let downloader = ImageDownloader { $0.resumableByteCount = 9000 }
        for name in ["a", "b", "c"] {
            #expect(Download(downloader, server.url("/\(name)")).failure()?.code == .transferIncomplete)
        }
        #expect(Download(downloader, server.url("/a")).failure()?.code == .transferIncomplete)
        #expect(try Download(downloader, server.url("/c")).end().data == Download.body)
        #expect(server.requests.suffix(2).map { $0.headers["range"] } == [nil, "bytes=2000-"])
    }

    @Test("Interrupted bodies go when memory is short", arguments: [MemoryPressure.moderate, .critical])
    func shortMemory(pressure: MemoryPressure) throws {
        let server = try server()
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.downloader = ImageDownloader { $0.resumableByteCount = 150_000 }
        let manager = ImageManager(configuration: configuration)
        #expect(Download(configuration.downloader, server.url("/a")).failure()?.code == .transferIncomplete)
        manager.trimMemory(for: pressure)
        _ = try Download(configuration.downloader, server.url("/a")).end()
        #expect((server.requests[1].headers["range"] == nil) == (pressure == .critical))
    }

    @Test("A failed connection keeps the interrupted body")
    func outage() throws {
        let first = try server()
        let downloader = ImageDownloader()
        #expect(Download(downloader, first.url("/a")).failure()?.code == .transferIncomplete)
        first.stop()
        #expect(Download(downloader, first.url("/a")).failure()?.code == .connectionFailed)
        let second = try LocalImageServer(port: first.port) { request in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            return response.conditional(on: request)
        }
        #expect(try Download(downloader, second.url("/a")).end().data == Download.body)
        #expect(second.requests[0].headers["range"] == "bytes=60000-")
    }

    @Test("A manager's retry resumes the transfer")
    func retried() async throws {
        let picture = ShippedImage.data("cat.jpg")
        let isFirst = Mutex(true)
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(picture, contentType: "image/jpeg")
            response.headers.append(("ETag", "\"1\""))
            let breaksOff = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if breaksOff { response.faults.closeAfterBytes = picture.count / 2 }
            return response.conditional(on: request)
        }
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.downloader = ImageDownloader()
        configuration.retryPolicy.initialDelay = .zero
        let manager = ImageManager(configuration: configuration)
        let response = try await manager.response(for: ImageRequest(url: server.url("/cat.jpg")))
        #expect(response.metrics?.cacheDecision == .resumed(Int64(picture.count / 2)))
        #expect(server.requests.count == 2)
    }
}
