import Foundation
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@testable import WebImageFormats
@testable import WebImageLinux
@testable import WebImageSandbox

/// SVG, whose workers read fonts.
@Suite(
    "Drawings in the sandbox",
    .enabled(if: DecodeSandbox.shared?.isFenced(.svg) == true, "This kernel has no Landlock")
)
struct SandboxedDrawingTests {
    private static let sandbox = DecodeSandbox(
        paths: [WorkerProgram.own],
        limit: 2,
        timeLimit: .seconds(2),
        patience: 200
    )
    private static let coders = CoderRegistry.builtIn(
        adding: [],
        sandbox: (sandbox, isOptional: true),
        neverHere: [.svg]
    )

    private static let text = """
        <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="200" height="80">
        <rect width="200" height="80" fill="#ffffff"/>
        <text x="10" y="50" font-family="sans-serif" font-size="40">Ågq €</text>
        <image x="150" y="10" width="40" height="40" xlink:href="data:image/png;base64,IMAGE"/>
        </svg>
        """

    private func decode(_ data: Data, _ change: (inout DecodeOptions) -> Void = { _ in }) throws -> (WebImage, WebImage)
    {
        var options = DecodeOptions(url: URL(string: "https://host/drawing"))
        change(&options)
        let here = try CoderRegistry.builtIn.decode(data, options: options)
        return (here, try Self.coders.decode(data, options: options))
    }

    /// The number of pixels that are darker than grey.
    private func darkCount(_ image: WebImage) -> Int {
        let colors = image.colors(x: 0..<image.pixelSize.width, y: 0..<image.pixelSize.height) ?? []
        return colors.count { $0.rgba >> 24 < 0x80 }
    }

    @Test("Text and images in an SVG look as in the process of the app, at every size")
    func svg() throws {
        let png = TestImage.solid(0x00AA00, size: PixelSize(width: 8, height: 8)).base64EncodedString()
        let file = Data(Self.text.replacing("IMAGE", with: png).utf8)
        for size in [DecodeSize.original, .contain(PixelSize(width: 500, height: 500))] {
            let (here, there) = try decode(file) { $0.size = size }
            #expect(darkCount(here) > 100, "No text is drawn")
            #expect(here.pixels.straightAlpha == there.pixels.straightAlpha, "\(size)")
            #expect(there.isVector && there.naturalSize == here.naturalSize && there.format == .svg)
        }
    }

    @Test(
        "A worker whose libraries start threads is behind the fence with all of them",
        arguments: [
            .openFile, .writeFile, .listDirectory, .socket, .connect, .fork, .spawn, .exec, .killApp, .attachToApp,
            .readApp, .mapCode, .shareMemory, .changeLimits,
        ] as [HostileDecoder.Attempt],
        [WorkerKind.modules, .drawings]
    )
    func refused(_ attempt: HostileDecoder.Attempt, kind: WorkerKind) throws {
        for onThread in [false, true] {
            let file = HostileDecoder.file(attempt, onThread: onThread)
            let (answer, _, _) = try Self.sandbox.pool(kind).perform(DecodeCommand(.decode), file)
            guard case .image(let image) = answer else { throw DecodeOptions().badData("\(answer)") }
            #expect(image.pixels.size.width == 1, "\(attempt) was let through")
        }
    }

    @Test("The loaders of drawings may start threads") func threads() throws {
        let (answer, _, _) = try Self.sandbox.pool(.drawings).perform(
            DecodeCommand(.decode),
            HostileDecoder.file(.thread)
        )
        guard case .image(let image) = answer else { throw DecodeOptions().badData("\(answer)") }
        #expect(image.pixels.size.width == 2)
    }

    @Test("A drawing that takes for ever is ended, and the next one is drawn") func endless() throws {
        // Each filter takes seconds at this size.
        let filters = String(repeating: "<feTurbulence numOctaves='9' baseFrequency='.9'/>", count: 40)
        let file = Data(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="4000" height="4000">
            <filter id="f">\(filters)</filter><rect width="4000" height="4000" filter="url(#f)"/></svg>
            """.utf8
        )
        let error = #expect(throws: ImageError.self) {
            try Self.coders.decode(file, options: DecodeOptions(url: URL(string: "https://host/a.svg")))
        }
        #expect(error?.code == .decoderTimedOut)
        let png = TestImage.solid(0x00AA00, size: PixelSize(width: 8, height: 8)).base64EncodedString()
        #expect(try decode(Data(Self.text.replacing("IMAGE", with: png).utf8)).1.format == .svg)
    }

    @Test("A small drawing around a huge image costs at most a worker") func bomb() throws {
        let image = Bomb.png(width: 20_000, height: 20_000).base64EncodedString()
        let file = Data(Self.text.replacing("IMAGE", with: image).utf8)
        let options = DecodeOptions(url: URL(string: "https://host/a.svg"))
        _ = thrownError { try Self.coders.decode(file, options: options) }
        let small = TestImage.solid(0x00AA00, size: PixelSize(width: 8, height: 8)).base64EncodedString()
        #expect(try decode(Data(Self.text.replacing("IMAGE", with: small).utf8)).1.format == .svg)
    }

    @Test("SVG from the network is shown by default, and one from an app's own list of formats only if it is there")
    func allowed() async throws {
        let server = try LocalImageServer { _ in
            .ok(
                Data("<svg xmlns='http://www.w3.org/2000/svg' width='20' height='10'/>".utf8),
                contentType: "image/svg+xml"
            )
        }
        func error(_ change: (inout ImageManager.Configuration) -> Void) async -> ImageError.Code? {
            var configuration = ImageManager.Configuration()
            configuration.diskCache = nil
            configuration.failureCacheDuration = .zero
            change(&configuration)
            do throws(ImageError) {
                let image = try await ImageManager(configuration: configuration).image(for: server.url("/a.svg"))
                return image.format == .svg ? nil : .unsupportedFormat
            } catch {
                return error.code
            }
        }
        #expect(await error { $0.decoding = .automatic } == nil)
        #expect(await error { $0.decoding = .sandboxed } == nil)
        #expect(await error { $0.decoding = .inProcess } == .formatNotAllowed)
        #expect(
            await error {
                $0.decoding = .automatic
                $0.formats.network = [.jpeg]
            } == .formatNotAllowed
        )
        // What else an app allows leaves SVG as it is, and an app can forbid it.
        #expect(
            await error {
                $0.decoding = .automatic
                $0.formats.network.formUnion([.heif, ImageFormat(rawValue: "image/x-xcf")])
            } == nil
        )
        #expect(
            await error {
                $0.decoding = .inProcess
                $0.formats.network.insert(.heif)
            } == .formatNotAllowed
        )
        #expect(
            await error {
                $0.decoding = .automatic
                $0.formats.inWorkers = []
            } == .formatNotAllowed
        )
        #expect(
            await error {
                $0.decoding = .inProcess
                $0.formats.network.insert(.svg)
            } == nil
        )
    }
}
