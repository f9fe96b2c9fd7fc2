import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Ranges that the app asks for")
struct RangeTests {
    private static let image = TestImage.quarters(size: PixelSize(width: 200, height: 100))
    private let directory = TemporaryDirectory()

    private func manager() -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: directory.path)
        configuration.downloader = ImageDownloader()
        return ImageManager(configuration: configuration)
    }

    private func request(_ url: URL, range: String?, modified: Bool = false) -> ImageRequest {
        var request = ImageRequest(url: url)
        request.cacheAccess = .awaitingWrites
        guard let range else { return request }
        if modified {
            request.networkOptions.requestModifier = .headers(["range": range])
        } else {
            request.networkOptions.headers["range"] = range
        }
        return request
    }

    @Test("A range neither is kept as the image, nor comes from it", arguments: [true, false])
    func apart(isModified: Bool) async throws {
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Self.image, contentType: "image/png")
            response.headers += [("ETag", "\"1\""), ("Cache-Control", "max-age=1000")]
            return response.conditional(on: request)
        }
        let (manager, url) = (manager(), server.url("/a"))
        // When a range is loaded before the image and after it
        let head = try await manager.data(for: request(url, range: "bytes=0-99", modified: isModified))
        let response = try await manager.response(for: request(url, range: nil))
        #expect(head == Self.image.prefix(100))
        #expect(response.source == .loader && response.image.pixelSize == PixelSize(width: 200, height: 100))
        guard !isModified else { return }
        // What a modifier sets is known only when the request is sent
        let next = try await manager.dataResponse(for: request(url, range: "bytes=100-199"))
        #expect(next.data == Self.image.dropFirst(100).prefix(100) && next.source == .loader)
        // Then both are what was asked for
        #expect(try await manager.data(for: request(url, range: nil)) == Self.image)
        #expect(server.requests.count == 3)
    }

    @Test("An interrupted range is requested again as a whole, since its parts have other places in the file")
    func interrupted() async throws {
        let isFirst = Mutex(true)
        let server = try LocalImageServer { request in
            var response = ServerResponse.ok(Download.body, contentType: "image/png")
            response.headers.append(("ETag", "\"1\""))
            response = response.conditional(on: request)
            response.faults.isChunked = true
            if isFirst.withLock({ exchange(&$0, with: false) }) { response.faults.closeAfterBytes = 20_000 }
            return response
        }
        let downloader = ImageDownloader()
        func load() -> Download { Download(downloader, server.url("/a")) { $0.headers["Range"] = "bytes=50000-89999" } }
        #expect(load().failure()?.code == .transferIncomplete)
        #expect(try load().end().data == Download.body[50_000..<90_000])
        #expect(server.requests.map { $0.headers["range"] } == ["bytes=50000-89999", "bytes=50000-89999"])
    }
}
