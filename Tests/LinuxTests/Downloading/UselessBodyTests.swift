import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("Bodies that are no image by their first bytes")
struct UselessBodyTests {
    private static let image = TestImage.solid(1, size: PixelSize(width: 30, height: 20))

    /// What servers send without an end, or with one that is far away.
    private static let streams: [String: Data] = [
        "/camera": Data("--frame\r\nContent-Type: image/jpeg\r\n\r\n".utf8) + Data(count: 9000),
        "/radio": Data("ID3".utf8) + Data(count: 9000), "/page": Data("<!DOCTYPE html>".utf8) + Data(count: 9000),
        "/video": Data([0, 0, 0, 24]) + Data("ftypisom".utf8) + Data(count: 9000), "/zeros": Data(count: 9000),
        "/text": Data(repeating: 0x20, count: 9000),
    ]

    private func manager() -> ImageManager {
        var configuration = ImageManager.Configuration()
        (configuration.diskCache, configuration.decoding) = (nil, .inProcess)
        configuration.downloader = ImageDownloader { $0.idleTimeout = .seconds(600) }
        return ImageManager(configuration: configuration)
    }

    @Test("Their loads end, and leave their place to others", arguments: [true, false])
    func endless(isChunked: Bool) async throws {
        let server = try LocalImageServer { request in
            guard let stream = Self.streams[request.path] else { return .ok(Self.image, contentType: "image/png") }
            var response = ServerResponse.ok(stream, contentType: "image/jpeg")
            response.faults.isChunked = isChunked
            (response.faults.declaredLength, response.faults.stallAfterBytes) = (isChunked ? nil : 60 << 20, 9000)
            return response
        }
        let manager = manager()
        let loads = Self.streams.keys.map { path in Task { try await manager.image(for: server.url(path)) } }
        for load in loads {
            let error = await thrownError { try await load.value }
            #expect(error?.code == .badImageData, "\(String(describing: error))")
        }
        #expect(try await manager.image(for: server.url("/image")).pixelSize == PixelSize(width: 30, height: 20))
    }

    @Test("Whoever wants the bytes gets all of them")
    func bytes() async throws {
        let page = try #require(Self.streams["/page"])
        let server = try LocalImageServer { _ in .ok(page + page, contentType: "text/html") }
        #expect(try await manager().data(for: server.url("/page")) == page + page)
    }

    @Test(
        "An image whose connection broke is loaded again, although nothing told its length",
        arguments: [TestImage.Format.png, .jpeg]
    )
    func cut(format: TestImage.Format) async throws {
        let image = TestImage.quarters(size: PixelSize(width: 200, height: 200), format: format)
        let count = EventLog<Int>()
        let server = try LocalImageServer { _ in
            count.add(0)
            var response = ServerResponse.ok(
                count.all.count == 1 ? image.prefix(image.count / 2) : image,
                contentType: ""
            )
            response.faults.endsWithConnection = true
            return response
        }
        #expect(try await manager().image(for: server.url("/a")).pixelSize == PixelSize(width: 200, height: 200))
        #expect(server.requests.count == 2)
    }
}
