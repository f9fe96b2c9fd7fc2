import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Heads of responses")
struct ResponseHeadTests {
    private static let image = TestImage.solid(1, size: PixelSize(width: 8, height: 8))

    private func manager(_ directory: TemporaryDirectory? = nil) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = directory.map { ImageManager.Configuration.DiskCache(directory: $0.path) }
        configuration.downloader = ImageDownloader()
        configuration.retryPolicy = .never
        return ImageManager(configuration: configuration)
    }

    private func server() throws -> LocalImageServer {
        try LocalImageServer { request in
            guard request.path != "/a" else { return .redirect(to: "/b") }
            var response = ServerResponse.ok(Self.image, contentType: "image/png")
            response.headers += [("X-Id", "1"), ("X-Id", "2"), ("ETag", "\"1\""), ("Cache-Control", "no-cache")]
            return response.conditional(on: request)
        }
    }

    @Test("A response has the head of the server and its final URL, also that with which it confirms a cached image")
    func loaded() async throws {
        let (server, directory) = (try server(), TemporaryDirectory())
        let manager = manager(directory)
        var request = ImageRequest(url: server.url("/a"))
        request.cacheAccess.awaitsWrites = true
        let loaded = try await manager.response(for: request)
        #expect(loaded.source == .loader && loaded.url == server.url("/a"))
        #expect(loaded.head?.status == 200 && loaded.head?.url == server.url("/b"))
        #expect(loaded.head?.headers["x-id"] == "1, 2" && loaded.head?.headers["content-type"] == "image/png")
        manager.cache.removeAllFromMemory()
        let confirmed = try await manager.response(for: request)
        #expect(confirmed.source == .revalidated && confirmed.head?.status == 304)
        #expect(confirmed.head?.headers["etag"] == "\"1\"" && confirmed.head?.url == server.url("/b"))
    }

    @Test(
        "A 304 about another version brings the image again, with a request for all of it; a weak ETag is no other version",
        arguments: [("\"1\"", "\"1-gzip\"", false), ("\"1\"", "W/\"2\"", false), ("W/\"1\"", "\"1\"", true)]
    )
    func otherVersion(etag: String, confirmed: String, isSame: Bool) async throws {
        let server = try LocalImageServer { request in
            let isAsking = request.headers["if-none-match"] != nil
            var response = isAsking ? ServerResponse(status: 304) : .ok(Self.image, contentType: "image/png")
            response.headers += [("ETag", isAsking ? confirmed : etag), ("Cache-Control", "no-cache")]
            return response
        }
        let directory = TemporaryDirectory()
        let manager = manager(directory)
        for source in [.loader, isSame ? .revalidated : .loader] as [LoadSource] {
            var request = ImageRequest(url: server.url("/a"))
            request.cacheAccess.awaitsWrites = true
            #expect(try await manager.response(for: request).source == source)
            manager.cache.removeAllFromMemory()
        }
        #expect(server.requests.map { $0.headers["if-none-match"] } == [nil, etag] + (isSame ? [] : [nil]))
    }

    @Test("Repeated fields of a response are joined")
    func repeated() throws {
        let offers = ["h2=\":443\"; ma=60", "h3=\":443\"; ma=60"]
        let server = try LocalImageServer { _ in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            for offer in offers { response.headers.append(("Alt-Svc", offer)) }
            return response
        }
        let result = try Download(ImageDownloader(), server.url("/a")).end()
        #expect(result.head?.headers["alt-svc"] == offers.joined(separator: ", "))
    }

    @Test("An image that no server was asked about has no head")
    func cached() async throws {
        let (server, directory) = (try server(), TemporaryDirectory())
        let manager = manager(directory)
        var request = ImageRequest(url: server.url("/b"), cachePolicy: .cachedElseLoad)
        request.cacheAccess.awaitsWrites = true
        #expect(try await manager.response(for: request).head?.status == 200)
        #expect(try await manager.response(for: request).head == nil)
        manager.cache.removeAllFromMemory()
        let stored = try await manager.response(for: request)
        #expect(stored.source == .disk && stored.head == nil)
        let file = URL(filePath: "\(directory.path)/a.png")
        try Self.image.write(to: file)
        #expect(try await manager.response(for: file).head == nil)
    }

    @Test("An error has the head of what the server has answered, and one without an answer has none")
    func failed() async throws {
        let server = try LocalImageServer { request in
            var response = ServerResponse(status: 503, headers: [("X-Id", "7"), ("Retry-After", "9")])
            if request.path == "/cut" {
                response = .ok(Self.image, contentType: "image/png")
                response.faults.closeAfterBytes = 10
            }
            if request.path == "/gone" { response.status = 404 }
            return response
        }
        let manager = manager()
        func error(_ path: String) async -> ImageError? {
            await thrownError { try await manager.image(for: server.url(path)) }
        }
        #expect(await error("/cut")?.head?.status == 200)
        // What is remembered of many failures has no header fields.
        #expect(await error("/gone")?.head?.headers["x-id"] == "7")
        let remembered = await error("/gone")
        #expect(remembered?.isRemembered == true && remembered?.httpStatus == 404)
        #expect(remembered?.head?.headers.isEmpty == true)
        // Its host is to be asked later.
        let busy = await thrownError { try await self.manager().image(for: server.url("/busy")) }
        #expect(busy?.httpStatus == 503 && busy?.head?.headers["x-id"] == "7" && busy?.retryAfter == .seconds(9))
        #expect(busy?.head?.url == server.url("/busy"))
        server.stop()
        let refused = await error("/other")
        #expect(refused?.code == .connectionFailed && refused?.head == nil && refused?.httpStatus == nil)
    }

    @Test("A stale image says what the server has answered when it was to be validated")
    func stale() async throws {
        let directory = TemporaryDirectory()
        let isDown = EventLog<Int>()
        let server = try LocalImageServer { _ in
            guard isDown.all.isEmpty else { return ServerResponse(status: 503, headers: [("X-Id", "7")]) }
            return ServerResponse(status: 200, headers: [("Cache-Control", "max-age=0")], body: Self.image)
        }
        let manager = manager(directory)
        var request = ImageRequest(url: server.url("/a"))
        request.cacheAccess.awaitsWrites = true
        _ = try await manager.response(for: request)
        isDown.add(1)
        manager.cache.removeAllFromMemory()
        let response = try await manager.response(for: request)
        #expect(response.source == .disk && response.head == nil)
        #expect(response.refreshError?.head?.headers["x-id"] == "7")
    }

    @Test("The text of a head names its fields, and no value of them")
    func text() throws {
        let url = try #require(URL(string: "https://u:secret@host.example/a?token=secret"))
        let head = ResponseHead(url: url, status: 200, headers: ["set-cookie": "session=secret", "etag": "\"secret\""])
        #expect("\(head)" == "200 <https://host.example/a?token=…> (etag, set-cookie)")
    }
}
