import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// A server that sends each user an image of their own says so with Vary.
@Suite("Images that depend on the user")
struct UserTests {
    private let directory = TemporaryDirectory()

    private func manager(_ change: (inout ImageDownloader.Configuration) -> Void = { _ in }) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: directory.path)
        configuration.downloader = ImageDownloader(change)
        configuration.retryPolicy = .never
        return ImageManager(configuration: configuration)
    }

    /// An image that is as wide as the name of the user is long.
    private static func image(of user: String, vary: String) -> ServerResponse {
        let image = TestImage.solid(0xFF0000, size: PixelSize(width: max(user.utf8.count, 1), height: 3))
        var response = ServerResponse.ok(image, contentType: "image/png")
        response.headers += [("Vary", vary), ("Cache-Control", "max-age=1000"), ("ETag", "\"\(user)\"")]
        return response
    }

    /// A server with passwords, where a user without one is called "".
    private func server(demandsUser: Bool = false) throws -> LocalImageServer {
        try LocalImageServer { request in
            let field = request.headers["authorization"]?.split(separator: " ").last
            let text = field.flatMap { Data(base64Encoded: String($0)) }.map { String(decoding: $0, as: UTF8.self) }
            guard let user = text?.split(separator: ":").first ?? (demandsUser ? nil : "") else {
                return ServerResponse(status: 401, headers: [("WWW-Authenticate", "Basic realm=\"x\"")])
            }
            return Self.image(of: String(user), vary: "Authorization").conditional(on: request)
        }
    }

    private func load(
        _ url: URL,
        _ manager: ImageManager,
        _ change: (inout NetworkOptions) -> Void = { _ in }
    ) async throws -> (width: Int, source: LoadSource) {
        manager.cache.removeAllFromMemory()
        var request = ImageRequest(url: url)
        request.cacheAccess = .awaitingWrites
        change(&request.networkOptions)
        let response = try await manager.response(for: request)
        return (response.image.pixelSize.width, response.source)
    }

    @Test("The disk cache gives nobody the image of another user")
    func credentials() async throws {
        let server = try server(demandsUser: true)
        for user in ["adam", "adam", "bernadette", "carl", "carl"] {
            let credential = NetworkOptions.Credential(user: user, password: "p")
            let loaded = try await load(server.url("/a"), manager()) { $0.credential = credential }
            #expect(loaded.width == user.utf8.count)
        }
        let error = await thrownError { try await load(server.url("/a"), manager()) }
        #expect(error?.httpStatus == 401)
        // And that of the same user comes from the disk
        #expect(server.requests.count { $0.headers["authorization"] != nil } == 3)
    }

    @Test("The user of a URL is one, too, also where the app has chosen the key")
    func userOfURL() async throws {
        let (server, manager) = (try server(), manager())
        for user in ["adam", "bernadette", "bernadette"] {
            let url = server.url("/a").absoluteString.replacingOccurrences(of: "//", with: "//\(user):p%20q@")
            var request = ImageRequest(url: try #require(URL(string: url)))
            (request.cacheKey, request.cacheAccess) = ("avatar", .awaitingWrites)
            manager.cache.removeAllFromMemory()
            #expect(try await manager.response(for: request).image.pixelSize.width == user.utf8.count)
        }
        #expect(server.requests.count == 2)
    }

    @Test("An image of a user whom the app names when it is asked serves once its server has confirmed it")
    func asked() async throws {
        let server = try server(demandsUser: true)
        for user in ["adam", "adam", "bernadette"] {
            let manager = manager { $0.credential = { _ in .init(user: user, password: "p") } }
            #expect(try await load(server.url("/a"), manager).width == user.utf8.count)
        }
        let known = server.requests.filter { $0.headers["authorization"] != nil }.map { $0.headers["if-none-match"] }
        #expect(known == [nil, "\"adam\"", "\"adam\""])
    }

    @Test(
        "A user whom the request itself names is known, also to an app that answers when it is asked",
        arguments: [true, false]
    )
    func known(isField: Bool) async throws {
        let server = try server(demandsUser: true)
        for number in 1...3 {
            let manager = manager { $0.credential = { _ in nil } }
            var request = ImageRequest(url: server.url("/a"), cachePolicy: number == 3 ? .cachedOnly : .standard)
            request.cacheAccess = .awaitingWrites
            if isField {
                request.networkOptions.headers["authorization"] = "Basic YWRhbTpw"
            } else {
                request.networkOptions.credential = NetworkOptions.Credential(user: "adam", password: "p")
            }
            let response = try await manager.response(for: request)
            #expect(response.image.pixelSize.width == 4 && response.source == (number == 1 ? .loader : .disk))
        }
    }

    @Test("An image that depends on cookies serves once its server has confirmed it")
    func cookies() async throws {
        let server = try LocalImageServer { request in
            guard request.path == "/a" else {
                let user = request.path.dropFirst()
                return ServerResponse(
                    status: 200,
                    headers: [("Set-Cookie", "user=\(user); Path=/")],
                    body: TestImage.solid(0, size: PixelSize(width: 1, height: 1))
                )
            }
            let user = request.headers["cookie"]?.split(separator: "=").last ?? ""
            return Self.image(of: String(user), vary: "Cookie").conditional(on: request)
        }
        let manager = manager()
        for user in ["adam", "bernadette"] {
            _ = try await load(server.url("/\(user)"), manager) { $0.handlesCookies = true }
            for _ in 0..<2 {
                let loaded = try await load(server.url("/a"), manager) { $0.handlesCookies = true }
                #expect(loaded.width == user.utf8.count)
            }
        }
        // And a request without cookies is another one
        #expect(try await load(server.url("/a"), manager).width == 1)
        let tags = server.requests.filter { $0.path == "/a" }.map { $0.headers["if-none-match"] }
        #expect(tags == [nil, "\"adam\"", "\"adam\"", "\"bernadette\"", nil])
    }

    @Test("The fields by which only a redirect varies count")
    func redirect() async throws {
        let server = try LocalImageServer { request in
            let theme = request.headers["x-theme"] ?? "default"
            guard request.path == "/a" else {
                let image = TestImage.solid(1, size: PixelSize(width: request.path.utf8.count, height: 3))
                var response = ServerResponse.ok(image, contentType: "image/png")
                response.headers.append(("Cache-Control", "max-age=1000"))
                return response
            }
            let fields = [("Location", "/\(theme)"), ("Vary", "X-Theme, Accept"), ("Cache-Control", "max-age=1000")]
            return ServerResponse(status: 301, headers: fields)
        }
        for (theme, width, source) in [(nil, 8, .loader), (nil, 8, .disk), ("dark", 5, .loader), ("dark", 5, .disk)]
            as [(String?, Int, LoadSource)]
        {
            let loaded = try await load(server.url("/a"), manager()) { $0.headers["X-Theme"] = theme }
            #expect(loaded == (width, source), "\(theme ?? "no theme")")
        }
    }
}
