import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageServices
import WebImageTesting

/// The service against a real server with a key.
@Suite(
    "Thumbor",
    .enabled(
        if: ThumborServer.isInstalled,
        "Thumbor is not installed; Tests/thumbor does so where PyPI can be reached."
    ),
    .serialized
)
struct ThumborTests {
    private static let key = "a key of this test: \"quoted\" \\ é"

    private let thumbor: ThumborServer
    /// The server whose images Thumbor scales.
    private let origin: LocalImageServer
    private let folder = TemporaryDirectory()

    init() throws {
        thumbor = try ThumborServer(key: Self.key)
        let image = TestImage.quarters(size: PixelSize(width: 1200, height: 900), format: .jpeg)
        origin = try LocalImageServer { request in
            request.path == "/a photo.jpg" ? .ok(image, contentType: "image/jpeg") : .notFound
        }
    }

    private var photo: URL { origin.url("/a%20photo.jpg?size=full&token=a%2Fb") }

    private func manager(_ service: ImageService? = nil) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.imageService = service ?? .thumbor(at: thumbor.baseURL, key: Self.key)
        configuration.diskCache = .init(directory: folder.path)
        configuration.retryPolicy = .never
        return ImageManager(configuration: configuration)
    }

    private func request(_ width: Int?) -> ImageRequest {
        var request = ImageRequest(url: photo)
        request.decodeSize = width.map { .contain(PixelSize(width: $0, height: $0)) }
        request.cacheAccess.awaitsWrites = true
        return request
    }

    @Test("It sends the size asked for, and the image at its own size without one")
    func sizes() async throws {
        let manager = manager()
        for (width, sent) in [(100, 128), (300, 384), (1100, 1200)] {
            let image = try await manager.image(for: request(width))
            #expect(image.naturalSize == PixelSize(width: sent, height: sent * 3 / 4))
            #expect(image.pixelSize.width == width)
        }
        #expect(try await manager.image(for: request(nil)).pixelSize == PixelSize(width: 1200, height: 900))
        #expect(EventLog<Int>.poll { thumbor.requests.map(\.status) == [200, 200, 200, 200] })
        #expect(origin.requests.first?.query == ["size": "full", "token": "a/b"])
    }

    @Test("It sends WebP to a manager that accepts it, and what it has to another one with the same cache")
    func webP() async throws {
        let server = try ThumborServer(key: Self.key, sendsWebP: true)
        for (formats, format) in [(AllowedFormats.web, .webp), ([.jpeg], .jpeg)] as [(Set<ImageFormat>, ImageFormat)] {
            var configuration = ImageManager.Configuration()
            configuration.imageService = .thumbor(at: server.baseURL, key: Self.key)
            configuration.diskCache = .init(directory: folder.path)
            configuration.formats.network = formats
            #expect(try await ImageManager(configuration: configuration).image(for: request(256)).format == format)
        }
    }

    @Test("An image is cut to a shape, and filters apply")
    func shapes() async throws {
        var service = ImageService.thumbor(
            at: thumbor.baseURL,
            key: Self.key,
            filters: ["format(webp)", "quality(60)"]
        )
        service.aspectRatio = 2
        let image = try await manager(service).image(for: request(256))
        #expect(image.naturalSize == PixelSize(width: 256, height: 128))
        #expect(image.format == .webp)
    }

    @Test("A wrong signature and none are refused", arguments: ["another key", nil])
    func wrongKeys(_ key: String?) async throws {
        let manager = manager(.thumbor(at: thumbor.baseURL, key: key))
        do {
            _ = try await manager.image(for: request(100))
            Issue.record("It was accepted")
        } catch {
            #expect(error.code == .badStatus)
            #expect(error.httpStatus == 400)
        }
        #expect(origin.requests.isEmpty)
    }

    @Test("A denser screen asks again, and a larger image in the caches serves without a request")
    func scales() async throws {
        let manager = manager()
        // Given an image of 100 application pixels, on screens with one and two pixels for each
        _ = try await manager.response(for: request(100))
        _ = try await manager.response(for: request(200))
        #expect(EventLog<Int>.poll { thumbor.requests.count == 2 })
        // When another manager, without the memory of the first, shows it in sizes below that
        let later = self.manager()
        for width in [190, 129, 64, 30] {
            let response = try await later.response(for: request(width))
            #expect(response.source == .disk)
            #expect(response.image.pixelSize.width == width)
        }
        // Then the server is not asked
        #expect(thumbor.requests.count == 2)
    }
}
