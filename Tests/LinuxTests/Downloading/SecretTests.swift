import CWebImageGLib
import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Secrets in requests")
struct SecretTests {
    private static let picture = TestImage.solid(1, size: PixelSize(width: 8, height: 8))

    @Test("The disk cache contains no user name, password, credential or cookie")
    func disk() async throws {
        let server = try LocalImageServer { request in
            let fields = [("Vary", "Authorization, Cookie, X-Key"), ("Cache-Control", "max-age=600")]
            guard request.path == "/a.png" else {
                return ServerResponse(status: 200, headers: fields, body: Self.picture)
            }
            let target = "http://SECRET6:SECRET7@\(request.headers["host"] ?? "")/SECRET8?token=SECRET9"
            return ServerResponse(status: 302, headers: fields + [("Location", target)])
        }
        let directory = TemporaryDirectory()
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: directory.path)
        configuration.downloader = ImageDownloader()
        let manager = ImageManager(configuration: configuration)
        var request = ImageRequest(url: URL(string: "http://SECRET1:SECRET2@127.0.0.1:\(server.port)/a.png")!)
        request.networkOptions.headers = ["Authorization": "Bearer SECRET3", "Cookie": "a=SECRET4", "X-Key": "SECRET5"]
        request.decodeSize = .contain(PixelSize(width: 4, height: 4))
        request.cacheAccess.awaitsWrites = true
        _ = try await manager.response(for: request)
        let files = FileManager.default.subpaths(atPath: directory.path) ?? []
        let contents = files.compactMap { FileManager.default.contents(atPath: "\(directory.path)/\($0)") }
        #expect(contents.contains { $0.range(of: Data("/a.png".utf8)) != nil }, "\(files)")
        #expect(contents.allSatisfy { $0.range(of: Data("SECRET".utf8)) == nil })
        // The entry serves the same request, and no other.
        manager.cache.removeAllFromMemory()
        #expect(try await manager.response(for: request).source == .disk)
        manager.cache.removeAllFromMemory()
        request.networkOptions.headers["Cookie"] = "a=other"
        #expect(try await manager.response(for: request).source == .loader)
        #expect(server.requests.count == 4)
    }

    @Test("Loads at a time with different users in the URL share no transfer")
    func users() async throws {
        let gate = ServerGate()
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Self.picture, contentType: "image/png")
            response.faults.gate = gate
            return response
        }
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.downloader = ImageDownloader()
        let manager = ImageManager(configuration: configuration)
        let loads = ["a", "b"].map { user in
            manager.load(URL(string: "http://\(user):p@127.0.0.1:\(server.port)/a")!, on: InlineDispatcher()) { _ in }
        }
        #expect(EventLog<Int>.poll { gate.waitingCount == 2 })
        gate.open()
        for load in loads { _ = try await load.image }
        #expect(Set(server.requests.compactMap { $0.headers["authorization"] }).count == 2)
    }

    @Test("A user in the URL gets no image of another one from the caches", arguments: [CacheTiers.all, .disk])
    func cachedByUser(tiers: CacheTiers) async throws {
        let server = try LocalImageServer { request in
            let isFirst =
                request.headers["authorization"] == "Basic \(Data("alice:SECRET1".utf8).base64EncodedString())"
            let size = PixelSize(width: isFirst ? 8 : 4, height: 8)
            let fields = [("Cache-Control", "max-age=600")]
            return ServerResponse(status: 200, headers: fields, body: TestImage.solid(1, size: size))
        }
        let directory = TemporaryDirectory()
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: directory.path)
        configuration.downloader = ImageDownloader()
        let manager = ImageManager(configuration: configuration)
        var widths: [Int] = []
        for user in ["alice:SECRET1@", "bob:SECRET1@", "", "alice:SECRET1@"] {
            var request = ImageRequest(url: URL(string: "http://\(user)127.0.0.1:\(server.port)/x.png")!)
            request.cacheAccess.awaitsWrites = true
            #expect(!request.sourceKey.contains("SECRET") && !request.sourceKey.contains("alice"))
            widths.append(try await manager.image(for: request).pixelSize.width)
            if tiers != .all { manager.cache.removeAllFromMemory() }
        }
        #expect(widths == [8, 4, 4, 8])
        #expect(server.requests.count == 3)
        let files = FileManager.default.subpaths(atPath: directory.path) ?? []
        let contents = files.compactMap { FileManager.default.contents(atPath: "\(directory.path)/\($0)") }
        #expect(contents.allSatisfy { $0.range(of: Data("SECRET".utf8)) == nil } && !contents.isEmpty)
    }

    @Test(
        "The text of an error names the URL without what may be secret",
        arguments: [
            (
                "http://SECRET:SECRET@host.example:80/a?token=SECRET&size=SECRET#SECRET",
                "http://host.example:80/a?token=…&size=…"
            ),
            ("https://SECRET@host.example?SECRET", "https://host.example?…"),
            ("https://SECRET%40b:SECRET@host.example/a@2x.png", "https://host.example/a@2x.png"),
            ("https://host.example/@a?b", "https://host.example/@a?…"), ("data:,a@b", "data:,a@b"),
            ("file:///a/b@2x.png", "file:///a/b@2x.png"),
            ("http:/SECRET:SECRET@host.example?token=SECRET", "http:…"),
        ]
    )
    func text(url: String, shown: String) throws {
        let link: URL = try #require(URL(string: url))
        let error = ImageError(.badStatus, url: link, reason: "Reason", remedy: "Remedy.")
        #expect("\(error)".contains("<\(shown)>") && !"\(error)".contains("SECRET"), "\(error)")
        #expect(error.url?.absoluteString == url)
    }

    @Test("The keyed hash of a value is that of GLib", arguments: [0, 1, 7, 55, 56, 63, 64, 65, 119, 120, 1000])
    func hash(count: Int) throws {
        let value = String(repeating: "v", count: count)
        let text = VaryingField.text(for: value)
        let data = try #require(Data(base64Encoded: String(text.drop { $0 != ":" }.dropFirst())))
        let (key, code) = (Array(data.prefix(16)), data.dropFirst(16))
        let expected = g_compute_hmac_for_string(G_CHECKSUM_SHA256, key, gsize(key.count), value, gssize(count))
        defer { g_free(expected) }
        #expect(
            code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                == String(cString: try #require(expected))
        )
    }
}
