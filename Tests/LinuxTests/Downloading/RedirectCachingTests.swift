import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageLinux
import WebImageTesting

@testable import WebImageCore

/// Images that are cached by the URL of a redirect.
@Suite("What redirects say about caching")
struct RedirectCachingTests {
    private static let red = TestImage.solid(0xFF0000, size: PixelSize(width: 8, height: 8))
    private static let green = TestImage.solid(0x00FF00, size: PixelSize(width: 9, height: 9))
    private let directory = TemporaryDirectory()

    private func manager(_ change: (inout ImageDownloader.Configuration) -> Void = { _ in }) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: directory.path)
        configuration.downloader = ImageDownloader(change)
        configuration.retryPolicy = .never
        return ImageManager(configuration: configuration)
    }

    private func load(
        _ url: URL,
        _ manager: ImageManager,
        _ policy: ImageRequest.CachePolicy = .standard
    ) async throws -> ImageResponse {
        manager.cache.removeAllFromMemory()
        var request = ImageRequest(url: url, cachePolicy: policy)
        request.cacheAccess = .awaitingWrites
        return try await manager.response(for: request)
    }

    /// A server that redirects from /a, to an image that is fresh for a year.
    private func server(_ status: Int, _ cacheControl: String?) throws -> LocalImageServer {
        try LocalImageServer { request in
            guard request.path == "/a" else {
                var response = ServerResponse.ok(Self.red, contentType: "image/png")
                response.headers += [("ETag", "\"1\""), ("Cache-Control", "max-age=31536000, immutable")]
                return response.conditional(on: request)
            }
            var headers = [("Location", "/b")]
            if let cacheControl { headers.append(("Cache-Control", cacheControl)) }
            return ServerResponse(status: status, headers: headers)
        }
    }

    @Test(
        "An image is fresh for as long as all redirects to it, of which temporary ones have to say so",
        arguments: [
            (301, nil, true), (308, nil, true), (301, "no-cache", false), (302, nil, false), (307, nil, false),
            (302, "max-age=6000", true), (307, "max-age=0", false), (302, "no-store", false), (308, "no-store", false),
        ] as [(Int, String?, Bool)]
    )
    func freshness(status: Int, cacheControl: String?, isFresh: Bool) async throws {
        let (server, manager) = (try server(status, cacheControl), manager())
        #expect(try await load(server.url("/a"), manager).source == .loader)
        // When it is loaded again, then the image is on disk in any case, and the redirect is asked for where it has to be
        let again = try await load(server.url("/a"), manager)
        #expect(again.source == (isFresh ? .disk : .revalidated))
        #expect(server.requests.map(\.path) == (isFresh ? ["/a", "/b"] : ["/a", "/b", "/a", "/b"]))
        // What is immutable is the image, not where the redirect leads
        #expect(try await load(server.url("/a"), manager, .refresh).source == .revalidated)
    }

    @Test("A redirect that leads elsewhere now brings that image, which may be older than the one before")
    func otherTarget() async throws {
        let target = Mutex("/new")
        let server = try LocalImageServer { request in
            guard request.path != "/a" else { return .redirect(to: target.withLock { $0 }) }
            var response = ServerResponse.ok(request.path == "/new" ? Self.red : Self.green, contentType: "image/png")
            response.headers.append(("Last-Modified", "Fri, 21 Nov 2025 00:00:00 GMT"))
            // As a server compares the dates: nothing has changed since the newer one.
            if request.headers["if-modified-since"] != nil { response = ServerResponse(status: 304) }
            return response
        }
        let manager = manager()
        #expect(try await load(server.url("/a"), manager).image.pixelSize.width == 8)
        target.withLock { $0 = "/old" }
        let other = try await load(server.url("/a"), manager)
        #expect(other.image.pixelSize.width == 9 && other.source == .loader)
        #expect(try await load(server.url("/a"), manager).source == .revalidated)
    }

    @Test("The entity tag of a signed URL counts for its next signature, and for no other item of the query")
    func signedTarget() async throws {
        let target = Mutex("/b?X-Amz-Signature=1&id=1")
        let server = try LocalImageServer { request in
            guard request.path != "/a" else { return .redirect(to: target.withLock { $0 }) }
            let isFirst = request.path == "/b" && request.query["id"] == "1"
            var response = ServerResponse.ok(isFirst ? Self.red : Self.green, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            return response.conditional(on: request)
        }
        let manager = manager()
        for other in ["/c?X-Amz-Signature=3&id=1", "/b?X-Amz-Signature=3&id=2", "/b"] {
            target.withLock { $0 = "/b?X-Amz-Signature=1&id=1" }
            #expect(try await load(server.url("/a"), manager).image.pixelSize.width == 8)
            target.withLock { $0 = "/b?id=1&X-Amz-Signature=2" }
            #expect(try await load(server.url("/a"), manager).source == .revalidated)
            target.withLock { $0 = other }
            #expect(try await load(server.url("/a"), manager).image.pixelSize.width == 9)
        }
    }

    @Test("A response that varies by a field which another origin does not get answers the same request again")
    func vary() async throws {
        let other = try LocalImageServer { _ in
            var response = ServerResponse.ok(Self.red, contentType: "image/png")
            response.headers += [("Vary", "Authorization"), ("Cache-Control", "max-age=6000")]
            return response
        }
        let target = other.url("/b").absoluteString
        let server = try LocalImageServer { _ in
            ServerResponse(status: 301, headers: [("Location", target), ("Vary", "X-Theme")])
        }
        let token = Mutex("1")
        let manager = manager {
            $0.requestModifier = RequestModifier(key: "token") { request in
                var request = request
                request.headers["Authorization"] = token.withLock { $0 }
                return request
            }
        }
        _ = try await load(server.url("/a"), manager)
        #expect(other.requests.map { $0.headers["authorization"] } == [nil])
        #expect(try await load(server.url("/a"), manager).source == .disk)
        // That of another user is another one
        token.withLock { $0 = "2" }
        #expect(try await load(server.url("/a"), manager).source == .loader)
    }

    @Test("A redirect that is stale when it arrives does not open the time after that anew")
    func staleRedirect() throws {
        let now = Date()
        var redirect = ResponseMetadata()
        (redirect.cacheControl, redirect.age) = ("max-age=100, stale-while-revalidate=50, stale-if-error=100", 160)
        redirect.responseTime = now
        let target = try #require(URL(string: "http://host/b"))
        var metadata = ResponseMetadata()
        (metadata.cacheControl, metadata.responseTime) = ("max-age=1000, stale-while-revalidate=1000", now)
        metadata.redirects = .init([(302, redirect)], to: target, at: now)
        let uses = [0, 39, 41].map { seconds in
            ImageRequest.CachePolicy.standard.use(of: metadata, headers: [:], now: now.addingTimeInterval(seconds))
        }
        #expect(uses == [.validate, .validate, .validate])
        let error = ImageError(.connectionFailed, url: target, reason: "r", remedy: "r")
        #expect(Freshness(metadata, now: now.addingTimeInterval(39)).isUsable(despite: error))
        #expect(!Freshness(metadata, now: now.addingTimeInterval(41)).isUsable(despite: error))
    }

    @Test("A 304 that says nothing leaves the image its own limits, also behind a redirect that holds for a year")
    func silentConfirmation() async throws {
        let server = try LocalImageServer { request in
            guard request.path == "/b" else {
                let fields = [("Location", "/b"), ("Cache-Control", "max-age=31536000"), ("Vary", "X-Theme")]
                return ServerResponse(status: 302, headers: fields)
            }
            if request.headers["if-none-match"] != nil { return ServerResponse(status: 304) }
            var response = ServerResponse.ok(Self.red, contentType: "image/png")
            response.headers += [("ETag", "\"1\""), ("Cache-Control", "max-age=0"), ("Vary", "Accept")]
            return response
        }
        let manager = manager()
        _ = try await load(server.url("/a"), manager)
        for count in [4, 6] {
            #expect(try await load(server.url("/a"), manager).source == .revalidated)
            #expect(server.requests.count == count)
        }
    }

    @Test("Of several redirects in a row, the one that holds for the shortest time counts")
    func chain() async throws {
        let lifetimes = ["/a": "max-age=600", "/b": "max-age=0", "/c": "max-age=600"]
        let next = ["/a": "/b", "/b": "/c", "/c": "/d"]
        let server = try LocalImageServer { request in
            if let target = next[request.path], let lifetime = lifetimes[request.path] {
                return ServerResponse(status: 307, headers: [("Location", target), ("Cache-Control", lifetime)])
            }
            var response = ServerResponse.ok(Self.red, contentType: "image/png")
            response.headers += [("ETag", "\"1\""), ("Cache-Control", "max-age=600")]
            return response.conditional(on: request)
        }
        let manager = manager()
        _ = try await load(server.url("/a"), manager)
        #expect(try await load(server.url("/a"), manager).source == .revalidated)
        #expect(server.requests.count == 8)
        // From behind the one that does not hold, the image is fresh
        _ = try await load(server.url("/c"), manager)
        #expect(try await load(server.url("/c"), manager).source == .disk)
    }
}
