import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Loading over HTTP with libcurl")
struct TransferTests {
    /// What one who asks hears.
    private final class Listener: Sendable {
        let events = EventLog<LoadEvent>()

        var results: [Result<LoadedData, ImageError>] {
            events.all.compactMap { if case .finished(let result) = $0 { result } else { nil } }
        }

        var bytes: Data {
            events.all.reduce(into: Data()) { if case .data(let data) = $1 { $0 += data } }
        }

        func wait() -> Result<LoadedData, ImageError>? {
            events.wait { if case .finished = $0.last { true } else { false } }
            return results.first
        }
    }

    private static let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 17) })

    @discardableResult
    private func load(
        _ loader: ImageDownloader,
        _ url: URL,
        _ listener: Listener,
        priority: ImagePriority = .normal,
        wantsData: Bool = false
    ) -> any LoadOperation {
        loader.load(LoadRequest(url: url, priority: priority, wantsData: wantsData)) { listener.events.add($0) }
    }

    @Test("A body comes whole, with its headers, progress and an end")
    func body() throws {
        let server = try LocalImageServer { _ in
            ServerResponse(
                status: 200,
                headers: [
                    ("Content-Type", "image/png"), ("ETag", "\"x\""), ("Cache-Control", "max-age=60"),
                    ("Last-Modified", "Sat, 21 Nov 2026 00:00:00 GMT"),
                ],
                body: Self.body
            )
        }
        let listener = Listener()
        load(ImageDownloader(), server.url("/a?b=c"), listener)
        let loaded = try #require(try listener.wait()?.get())
        #expect(loaded.data == Self.body)
        #expect(loaded.metadata.contentType == "image/png")
        #expect(loaded.metadata.etag == "\"x\"")
        #expect(loaded.metadata.cacheControl == "max-age=60")
        #expect(loaded.metadata.lastModified == "Sat, 21 Nov 2026 00:00:00 GMT")
        let last = listener.events.all.compactMap { event -> (Int64, Int64?)? in
            if case .progress(let received, let expected) = event { (received, expected) } else { nil }
        }.last
        #expect(last?.0 == 100_000 && last?.1 == 100_000)
        #expect(listener.bytes.isEmpty)
        #expect(server.requests[0].target == "/a?b=c")
        #expect(server.requests[0].headers["user-agent"]?.contains("GtkWebImage/") == true)
    }

    @Test("All who ask for a URL share one transfer; one who wants the bytes late gets all of them")
    func coalescing() throws {
        let gate = ServerGate()
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Self.body, contentType: "image/png")
            response.faults.bodyGate = (afterBytes: 50_000, gate: gate)
            return response
        }
        let loader = ImageDownloader()
        let listeners = (0..<10).map { _ in Listener() }
        for listener in listeners { load(loader, server.url("/a"), listener) }
        listeners[0].events.wait { !$0.isEmpty }
        let late = Listener()
        load(loader, server.url("/a"), late, wantsData: true)
        late.events.wait { events in events.contains { if case .data = $0 { true } else { false } } }
        gate.open()
        for listener in listeners + [late] { #expect(try listener.wait()?.get().data == Self.body) }
        #expect(late.bytes == Self.body)
        #expect(server.requests.count == 1)
        for listener in listeners { #expect(listener.results.count == 1) }
    }

    @Test("Six at a time; those that wait go by priority")
    func window() throws {
        let (gate, firstGate) = (ServerGate(), ServerGate())
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Self.body, contentType: "image/png")
            if request.path.hasPrefix("/held") { response.faults.gate = request.path == "/held0" ? firstGate : gate }
            return response
        }
        let loader = ImageDownloader()
        let listeners = (0..<6).map { _ in Listener() }
        for (index, listener) in listeners.enumerated() { load(loader, server.url("/held\(index)"), listener) }
        #expect(EventLog<Int>.poll { gate.waitingCount == 5 && firstGate.waitingCount == 1 })
        let order = EventLog<String>()
        func wait(_ name: String, _ priority: ImagePriority) -> any LoadOperation {
            loader.load(LoadRequest(url: server.url("/\(name)"), priority: priority)) { event in
                if case .finished = event { order.add(name) }
            }
        }
        _ = wait("low", .low)
        _ = wait("normal", .normal)
        let raised = wait("raised", .veryLow)
        let dropped = wait("dropped", .high)
        raised.setPriority(.veryHigh)
        dropped.cancel()
        #expect(server.requests.map(\.path).sorted() == (0..<6).map { "/held\($0)" })
        // When there is room for one at a time
        firstGate.open()
        #expect(order.wait { $0.count == 3 })
        #expect(server.requests.dropFirst(6).map(\.path) == ["/raised", "/normal", "/low"])
        gate.open()
        for listener in listeners { #expect(try listener.wait()?.get().data == Self.body) }
        #expect(server.totalConnections <= 6)
    }

    @Test("Connections are kept: a hundred requests one after the other take one")
    func keepAlive() throws {
        let server = try LocalImageServer { _ in .ok(Self.body, contentType: "image/png") }
        let loader = ImageDownloader()
        for index in 0..<100 {
            let listener = Listener()
            load(loader, server.url("/\(index)"), listener)
            #expect(try listener.wait()?.get().data == Self.body)
        }
        #expect(server.totalConnections == 1)
    }

    @Test("Also after an error page the connection is kept")
    func keepAliveAfterError() throws {
        let server = try LocalImageServer { _ in .notFound }
        let loader = ImageDownloader()
        for _ in 0..<5 {
            let listener = Listener()
            load(loader, server.url("/a"), listener)
            #expect(throws: ImageError.self) { try listener.wait()?.get() }
        }
        #expect(server.totalConnections == 1)
    }

    @Test("The transfer stops when the last one leaves; who stays gets it")
    func cancel() throws {
        let gate = ServerGate()
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Self.body, contentType: "image/png")
            response.faults.gate = gate
            return response
        }
        let loader = ImageDownloader()
        let (stays, leaves) = (Listener(), Listener())
        load(loader, server.url("/a"), stays)
        let leaving = load(loader, server.url("/a"), leaves)
        let alone = load(loader, server.url("/b"), Listener())
        #expect(EventLog<Int>.poll { gate.waitingCount == 2 })
        leaving.cancel()
        alone.cancel()
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        gate.open()
        #expect(try stays.wait()?.get().data == Self.body)
        #expect(leaves.events.all.isEmpty)
    }

    @Test("Ten thousand starts and cancels leave no transfer, no connection, no descriptor")
    func storm() throws {
        let server = try LocalImageServer { _ in .ok(Data(count: 100), contentType: "image/png") }
        let loader = ImageDownloader()
        let warm = Listener()
        load(loader, server.url("/warm"), warm)
        _ = warm.wait()
        let before = Self.openDescriptors()
        for number in 0..<10_000 {
            load(loader, server.url("/\(number % 100)"), Listener()).cancel()
        }
        let last = Listener()
        load(loader, server.url("/last"), last)
        #expect(try last.wait()?.get().data.count == 100)
        #expect(EventLog<Int>.poll { server.openConnections <= 6 })
        #expect(Self.openDescriptors() <= before + 24, "\(Self.openDescriptors() - before) more")
    }

    @Test(
        "Redirects are followed, but not on and on, and not to other schemes",
        arguments: [
            ("/start", nil), ("/loop", ImageError.Code.badRedirect), ("/file", .badRedirect), ("/ftp", .badRedirect),
        ]
    )
    func redirects(path: String, code: ImageError.Code?) throws {
        let server = try LocalImageServer { request in
            switch request.path {
            case "/start": .redirect(to: "/end")
            case "/loop": .redirect(to: "/loop")
            case "/file": .redirect(to: "file:///etc/passwd")
            case "/ftp": .redirect(to: "ftp://127.0.0.1/a.png")
            default: .ok(Self.body, contentType: "image/png")
            }
        }
        let listener = Listener()
        load(ImageDownloader(), server.url(path), listener)
        switch listener.wait() {
        case .success(let loaded): #expect(code == nil && loaded.data == Self.body)
        case .failure(let error): #expect(error.code == code, "\(error)")
        case nil: Issue.record("no result")
        }
    }

    @Test("A body beyond the limit is refused, whether its length is told or not", arguments: [true, false])
    func limit(isTold: Bool) throws {
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Self.body, contentType: "image/png")
            response.faults.isChunked = !isTold
            return response
        }
        var configuration = DownloaderConfiguration()
        configuration.maximumByteCount = 99_999
        let listener = Listener()
        load(ImageDownloader(configuration: configuration), server.url("/a"), listener)
        let error = #expect(throws: ImageError.self) { try listener.wait()?.get() }
        #expect(error?.code == .bodyTooLarge)
    }

    @Test("A body without a length, in chunks or to the end of the connection, comes whole", arguments: [true, false])
    func noLength(isChunked: Bool) throws {
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Self.body, contentType: "image/png")
            response.faults.isChunked = isChunked
            response.faults.endsWithConnection = !isChunked
            return response
        }
        let listener = Listener()
        load(ImageDownloader(), server.url("/a"), listener)
        #expect(try listener.wait()?.get().data == Self.body)
    }

    @Test("A server that stops sending is given up after the time that it is given")
    func stall() throws {
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Self.body, contentType: "image/png")
            response.faults.stallAfterBytes = 1000
            return response
        }
        var configuration = DownloaderConfiguration()
        configuration.idleTimeout = .seconds(1)
        let listener = Listener()
        load(ImageDownloader(configuration: configuration), server.url("/a"), listener)
        let error = #expect(throws: ImageError.self) { try listener.wait()?.get() }
        #expect(error?.code == .timedOut)
    }

    @Test("An answer that is no HTTP is an error that says so")
    func garbage() throws {
        let server = try LocalImageServer { _ in
            var response = ServerResponse.status(200)
            response.faults.rawResponse = Data("\u{1}\u{2}\u{3} hello\r\n\r\n".utf8)
            return response
        }
        let listener = Listener()
        load(ImageDownloader(), server.url("/a"), listener)
        let error = #expect(throws: ImageError.self) { try listener.wait()?.get() }
        #expect(error?.code == .badResponse || error?.code == .connectionFailed, "\(String(describing: error))")
    }

    @Test("A host that does not exist is an error of its own")
    func unknownHost() throws {
        let listener = Listener()
        load(ImageDownloader(), URL(string: "http://nowhere.invalid/a.png")!, listener)
        let error = #expect(throws: ImageError.self) { try listener.wait()?.get() }
        #expect(error?.code == .hostNotFound)
        #expect(error?.url?.absoluteString == "http://nowhere.invalid/a.png")
    }

    @Test("A loader that is dropped finishes what is under way, then closes its connections")
    func dropped() throws {
        let gate = ServerGate()
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Self.body, contentType: "image/png")
            response.faults.gate = gate
            return response
        }
        let listener = Listener()
        var loader: ImageDownloader? = ImageDownloader()
        load(loader!, server.url("/a"), listener)
        #expect(EventLog<Int>.poll { gate.waitingCount == 1 })
        loader = nil
        gate.open()
        #expect(try listener.wait()?.get().data == Self.body)
        #expect(EventLog<Int>.poll { server.openConnections == 0 })
    }

    private static func openDescriptors() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }
}
