import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("What servers are told about images and the network, and what caches make of their choice")
struct NegotiationTests {
    private let folder = TemporaryDirectory()
    private let network = ManualNetwork()

    private func manager(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = ImageManager.Configuration.DiskCache(directory: folder.path)
        configuration.networkMonitor = network
        configuration.downloader = ImageDownloader()
        change(&configuration)
        return ImageManager(configuration: configuration)
    }

    /// A server that sends WebP where it is accepted, PNG otherwise, as `map $http_accept` of nginx does.
    private func server() throws -> LocalImageServer {
        let size = PixelSize(width: 8, height: 4)
        let webp = try CoderRegistry.builtIn.encode(
            CoderRegistry.builtIn.decode(TestImage.solid(1, size: size)),
            as: .webp
        )
        return try LocalImageServer { request in
            let isWebP = request.headers["accept"]?.contains("image/webp") == true
            var response = ServerResponse.ok(
                isWebP ? webp : TestImage.solid(2, size: size),
                contentType: isWebP ? "image/webp" : "image/png"
            )
            response.headers += [("Vary", "Accept, Save-Data"), ("Cache-Control", "max-age=1000")]
            return response
        }
    }

    @Test("A server that is told the width sends an image for each, and the cache confuses none")
    func width() async throws {
        let server = try LocalImageServer { request in
            let width = request.headers["sec-ch-width"].flatMap(Int.init) ?? 8
            let image = TestImage.solid(1, size: PixelSize(width: width, height: 100))
            var response = ServerResponse.ok(image, contentType: "image/png")
            response.headers += [("Vary", "Sec-CH-Width"), ("Cache-Control", "max-age=1000")]
            return response
        }
        for (width, sent) in [(150, 200), (320, 400), (360, 400), (150, 200)] {
            let manager = manager { configuration in
                configuration.requestProcessor = { request in
                    guard case .cover(let size) = request.decodeSize else { return request }
                    var request = request
                    request.networkOptions.headers["Sec-CH-Width"] = "\((size.width + 99) / 100 * 100)"
                    return request
                }
            }
            var request = ImageRequest(url: server.url("/photo"))
            request.decodeSize = .cover(PixelSize(width: width, height: 100))
            #expect(try await manager.image(for: request).naturalSize.width == sent)
        }
        #expect(server.requests.map { $0.headers["sec-ch-width"] } == ["200", "400", "200"])
    }

    @Test("Accept names the formats that are decoded and allowed, best first, and the app's field replaces it")
    func accept() async throws {
        let server = try server()
        func field(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) async throws -> String? {
            let url = server.url("/\(server.requests.count)")
            _ = try await manager(change).image(for: url)
            return server.requests.last?.headers["accept"]
        }
        let usual = try #require(try await field())
        #expect(usual.hasSuffix("image/*;q=0.8,*/*;q=0.5"))
        let names = ["image/jxl", "image/avif", "image/webp", "image/heic", "image/apng", "image/svg+xml"]
        let order = names.compactMap { usual.range(of: $0)?.lowerBound }
        #expect(usual.contains("image/webp,") && usual.contains("image/apng,") && order == order.sorted())
        // Only workers may decode these.
        let here = try #require(try await field { $0.decoding = .inProcess })
        #expect(!here.contains("image/heic") && !here.contains("image/jxl"))
        #expect(try await field { $0.formats.network = [.jpeg, .png] } == "image/apng,image/*;q=0.8,*/*;q=0.5")
        #expect(try await field { $0.downloader.configuration.headers["accept"] = "image/png" } == "image/png")
        // A decoder of the app counts, also one that is added later
        let other = manager { $0.formats.network.insert(.jpegXL) }
        other.coders.add(AnyFormat())
        _ = try await other.image(for: server.url("/added"))
        #expect(server.requests.last?.headers["accept"]?.hasPrefix("image/jxl,") == true)
    }

    @Test("An image that a server chose by Accept is not used by a manager that accepts others")
    func vary() async throws {
        let server = try server()
        let url = server.url("/a")
        for (formats, format) in [(AllowedFormats.web, .webp), ([.png, .jpeg], .png), ([.png, .jpeg], .png)]
            as [(Set<ImageFormat>, ImageFormat)]
        {
            #expect(try await manager { $0.formats.network = formats }.image(for: url).format == format)
        }
        #expect(server.requests.count == 2)
    }

    @Test("nginx sends AVIF where it is decoded, else WebP, else JPEG, and each manager keeps what it can show")
    func nginx() async throws {
        let size = PixelSize(width: 8, height: 4)
        let avif = try #require(OtherFormatFile.all.first { $0.format == .avif }).data
        let webp = try CoderRegistry.builtIn.decode(TestImage.solid(1, size: size)).data(as: .webp)
        let jpeg = TestImage.solid(1, size: size, format: .jpeg)
        let nginx = try Nginx(files: ["a.avif": avif, "a.webp": webp, "a.jpg": jpeg])
        for _ in 1...2 {
            for (formats, format) in [(AllowedFormats.web, .avif), ([.webp, .jpeg], .webp), ([.jpeg], .jpeg)]
                as [(Set<ImageFormat>, ImageFormat)]
            {
                let manager = manager { $0.formats.network = formats }
                #expect(try await manager.image(for: nginx.negotiatedURL("a")).format == format)
            }
        }
    }

    @Test("On a metered network, servers are asked to save data")
    func saveData() async throws {
        let server = try server()
        for (isMetered, field, count) in [(false, nil, 1), (true, "on", 2), (true, "on", 2)] as [(Bool, String?, Int)] {
            network.status = ImageNetworkStatus(isMetered: isMetered)
            _ = try await manager().image(for: server.url("/a"))
            #expect(server.requests.last?.headers["save-data"] == field && server.requests.count == count)
        }
        _ = try await manager { $0.downloader.configuration.headers["Save-Data"] = "off" }.image(for: server.url("/b"))
        #expect(server.requests.last?.headers["save-data"] == "off")
    }

    @Test("The priority of a load is sent, unless the app sets the field", arguments: ImagePriority.allCases)
    func priority(of priority: ImagePriority) async throws {
        let server = try server()
        _ = try await manager().image(for: ImageRequest(url: server.url("/a"), priority: priority))
        let urgency = [ImagePriority.veryHigh: 1, .high: 2, .normal: 3, .low: 5, .veryLow: 6][priority] ?? 0
        #expect(server.requests.last?.headers["priority"] == "u=\(urgency), i")
        var request = ImageRequest(url: server.url("/b"), priority: priority)
        request.networkOptions.headers["priority"] = "u=0"
        _ = try await manager().image(for: request)
        #expect(server.requests.last?.headers["priority"] == "u=0")
    }

    /// Says that it decodes everything, and decodes PNG.
    private struct AnyFormat: ImageDecoding {
        func canDecode(_ format: ImageFormat) -> Bool { true }

        func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
            try CoderRegistry.builtIn.decode(data, options: options)
        }
    }
}
