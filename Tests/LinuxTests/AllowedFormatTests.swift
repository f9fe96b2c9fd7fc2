import FoundationEssentials
import TestSupport
import Testing
import WebImageCore
import WebImageLinux
import WebImageSandbox
import WebImageTesting

@Suite("The formats that a manager allows")
struct AllowedFormatTests {
    private static let svg = Data("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>".utf8)
    private let folder = TemporaryDirectory()

    private func manager(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) -> ImageManager {
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.retryPolicy = .never
        configuration.failureCacheDuration = .zero
        // Workers decode SVG from the network, too (SandboxedDrawingTests).
        configuration.decoding = .inProcess
        change(&configuration)
        return ImageManager(configuration: configuration)
    }

    private func error(_ manager: ImageManager, _ request: some ImageRequestConvertible) async -> ImageError? {
        do throws(ImageError) {
            _ = try await manager.image(for: request)
            return nil
        } catch {
            return error
        }
    }

    @Test("What browsers show comes from the network, whatever the server calls it")
    func web() async throws {
        let size = PixelSize(width: 8, height: 8)
        let files: [String: Data] = [
            "jpeg": TestImage.solid(0xFF0000, size: size, format: .jpeg), "png": TestImage.solid(0xFF0000, size: size),
            "gif": TestImage.animation([0xFF0000, 0x00FF00], size: size),
            "apng": TestImage.animation([0xFF0000, 0x00FF00], size: size, format: .png),
            "webp": TestImage.animation([0xFF0000, 0x00FF00], size: size, format: .webp),
            "bmp": TestImage.solid(0xFF0000, size: size, format: .bmp),
            "avif": OtherFormatFile.all.first { $0.format == .avif }!.data,
        ]
        let server = try LocalImageServer { request in
            .ok(files[String(request.path.dropFirst())] ?? Data(), contentType: "image/svg+xml")
        }
        let manager = manager()
        for name in files.keys { #expect(await error(manager, server.url("/\(name)")) == nil, "\(name)") }
    }

    @Test("SVG and rare formats do not come from the network, and the error names URL, format and remedy")
    func refused() async throws {
        let pnm = Data("P6 1 1 255\nabc".utf8)
        let server = try LocalImageServer { request in
            .ok(request.path == "/a.svg" ? Self.svg : pnm, contentType: "image/png")
        }
        let manager = manager()
        let found = try #require(await error(manager, server.url("/a.svg")))
        #expect(found.code == .formatNotAllowed && found.url == server.url("/a.svg"))
        #expect(found.reason.contains("SVG") && found.remedy.contains("insert .svg into formats.network"))
        // The safe way comes first.
        #expect(found.remedy.hasPrefix("Decode in workers") && found.remedy.contains("if you trust the servers"))
        // While it arrives, no part of it is decoded either.
        var request = ImageRequest(url: server.url("/a.pnm"))
        request.loading = .progressive
        #expect(await error(manager, request)?.code == .formatNotAllowed)
        // A data URL comes from wherever the app has it.
        let url = try #require(URL(string: "data:image/svg+xml;base64,\(Self.svg.base64EncodedString())"))
        #expect(await error(manager, url)?.code == .formatNotAllowed)
    }

    @Test(
        "HEIC, JPEG XL and TIFF come from the network where a worker decodes them",
        .enabled(if: DecodeSandbox.shared?.isFenced(.heif) == true, "This process has no decode workers")
    )
    func onlyInWorkers() async throws {
        let coders = CoderRegistry.builtIn
        let others = OtherFormatFile.all.filter {
            [.heif, .jpegXL].contains($0.format) && coders.decoder(for: $0.format) != nil
        }
        let tiff = TestImage.solid(0xFF0000, size: PixelSize(width: 8, height: 8), format: .tiff)
        for file in others.map(\.data) + [tiff] {
            let server = try LocalImageServer { _ in .ok(file, contentType: "image/jpeg") }
            #expect(await error(manager { $0.decoding = .automatic }, server.url("/a")) == nil)
            #expect(await error(manager(), server.url("/a"))?.code == .formatNotAllowed)
            let strict = manager {
                $0.decoding = .automatic
                $0.formats.inWorkers = [.svg]
            }
            #expect(await error(strict, server.url("/a"))?.code == .formatNotAllowed)
        }
    }

    @Test("A format that no worker decodes does not come from the network as one of workers")
    func withoutWorker() async throws {
        let server = try LocalImageServer { _ in .ok(Data("icns\0\0\0\u{8}".utf8), contentType: "image/x-icns") }
        let manager = manager {
            $0.decoding = .automatic
            $0.formats.inWorkers.formUnion([ImageFormat(rawValue: "icns"), .pdf])
        }
        #expect(await error(manager, server.url("/a"))?.code == .formatNotAllowed)
    }

    @Test("A file may have any format that is installed, unless the app says which")
    func local() async throws {
        let file = URL(filePath: "\(folder.path)/a.svg")
        try Self.svg.write(to: file)
        #expect(await error(manager(), file) == nil)
        #expect(throws: Never.self) { try WebImage(contentsOf: file) }
        let strict = manager { $0.formats.local = [.png] }
        let found = await error(strict, file)
        #expect(found?.code == .formatNotAllowed && found?.remedy.contains("formats.local") == true)
    }

    @Test("An app can allow more from the network, or less")
    func changed() async throws {
        let png = TestImage.solid(0xFF0000, size: PixelSize(width: 8, height: 8))
        let server = try LocalImageServer { request in
            .ok(request.path == "/a.svg" ? Self.svg : png, contentType: "image/png")
        }
        #expect(await error(manager { $0.formats.network.insert(.svg) }, server.url("/a.svg")) == nil)
        let found = await error(manager { $0.formats.network = [.jpeg] }, server.url("/a.png"))
        #expect(found?.code == .formatNotAllowed)
    }

    @Test("An app's own format comes from the network with the app's decoder")
    func own() async throws {
        struct DotDecoder: ImageDecoding {
            static let format = ImageFormat(rawValue: "dot")

            func canDecode(_ format: ImageFormat) -> Bool { format == Self.format }

            func canDecode(_ head: Data, format: ImageFormat) -> Bool { head.starts(with: Array("DOT!".utf8)) }

            func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
                let pixels = PixelBuffer(size: PixelSize(width: 1, height: 1), format: .rgb) { $0[0] = 1 }
                return WebImage(pixels: pixels!, format: Self.format)
            }
        }
        let server = try LocalImageServer { _ in .ok(Data("DOT!1".utf8), contentType: "image/dot") }
        #expect(await error(manager { $0.decoders = [DotDecoder()] }, server.url("/a.dot")) == nil)
    }
}
