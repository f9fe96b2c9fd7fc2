import Foundation
import TestTraits
import Testing
import WebImageCore
import WebImageFormats
import WebImageLinux
import WebImageTesting

/// Runs the gallery on URLs of the test's server, whose images have the colour that their URL names.
@Suite("The gallery", .blocking, .serialized)
struct GalleryTests {
    private let folder: URL
    private static let count = 1000

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "gwi-gallery-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// An entry of the gallery's log: the URL of a cell and the colour of the image that it showed.
    private struct Line {
        let isAtRest: Bool
        let url: URL
        let color: UInt32?

        init?(_ text: Substring) {
            let parts = text.split(separator: " ")
            // The trace has lines about other things, too.
            guard parts.count == 3, ["shown", "rest"].contains(parts[0]), let url = URL(string: String(parts[1])) else {
                return nil
            }
            isAtRest = parts[0] == "rest"
            self.url = url
            color = UInt32(parts[2], radix: 16)
        }

        /// The colour that the path of the URL names.
        var expected: UInt32? { UInt32(url.deletingPathExtension().lastPathComponent, radix: 16) }
    }

    private static func color(_ index: Int) -> UInt32 { UInt32(index * 16_381 + 0x10203) & 0xFFFFFF }

    private static func path(_ index: Int) -> String {
        "/\(index)/\(String(color(index), radix: 16)).png"
    }

    private static func answer(_ request: ServerRequest) -> ServerResponse {
        let name = request.path.split(separator: "/").last?.split(separator: ".").first
        guard let color = name.flatMap({ UInt32($0, radix: 16) }) else { return .notFound }
        return .ok(TestImage.solid(color, size: PixelSize(width: 320, height: 240)), contentType: "image/png")
    }

    private func run(
        _ arguments: [String],
        urls: [URL]? = nil,
        on display: GalleryDisplay = .forScrolling
    ) throws -> ChildProcess {
        var arguments = arguments + ["--cache-dir", folder.appending(path: "cache").path()]
        if let urls {
            let list = folder.appending(path: "urls.txt")
            try urls.map(\.absoluteString).joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
            arguments += ["--url-list", list.path()]
        }
        return try display.runGallery(arguments)
    }

    private func trace(_ file: URL) throws -> [Line] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap(Line.init)
    }

    @Test(
        "From top to bottom each cell shows only the image of its URL, and each image is fetched once"
    )
    func scrolledThrough() throws {
        // Given a server with a thousand images
        let server = try LocalImageServer(handler: Self.answer)
        let urls = (0..<Self.count).map { server.url(Self.path($0)) }
        let file = folder.appending(path: "trace")
        // When the gallery is scrolled through
        let first = try run(["--scroll-through", "--trace", file.path()], urls: urls)
        #expect(first.exitCode == 0, "\(first.output)")
        // Then every image ends up in a cell that shows it
        let lines = try trace(file)
        let resting = lines.filter(\.isAtRest)
        #expect(Set(resting.map(\.url)) == Set(urls))
        #expect(resting.allSatisfy { $0.color == $0.expected })
        // And no cell ever shows another image
        let shown = lines.filter { !$0.isAtRest && $0.color != nil }
        #expect(shown.count >= Self.count)
        let wrong = shown.filter { $0.color != $0.expected }
        #expect(wrong.isEmpty, "\(wrong)")
        // And each image is requested once
        let requests = Dictionary(grouping: server.requests, by: \.path).mapValues(\.count)
        #expect(requests.count == Self.count)
        #expect(requests.values.allSatisfy { $0 == 1 })
        // When the gallery is started again
        server.resetLog()
        let second = try run(["--scroll-through", "--trace", file.path()], urls: urls)
        // Then nothing is requested but what the disk did not take in the last third of a second, and all images are shown again
        #expect(second.exitCode == 0, "\(second.output)")
        #expect(server.requests.count < Self.count / 10, "\(server.requests.count) requests")
        let again = try trace(file).filter(\.isAtRest)
        #expect(Set(again.map(\.url)) == Set(urls))
        #expect(again.allSatisfy { $0.color == $0.expected })
        try FileManager.default.removeItem(at: folder)
    }

    @Test("Failing images do not affect the others")
    func badImages() throws {
        let server = try LocalImageServer { request in
            switch request.path.split(separator: "/").last {
            case "missing.png": return .notFound
            case "page.png": return .ok(Data("<!DOCTYPE html><html></html>".utf8), contentType: "text/html")
            case "empty.png": return .ok(Data(), contentType: "image/png")
            case "reset.png":
                var response = ServerResponse.ok(Data(count: 90_000), contentType: "image/png")
                response.faults.resetAfterBytes = 1000
                return response
            default: return Self.answer(request)
            }
        }
        let bad = ["missing.png", "page.png", "empty.png", "reset.png"]
        let urls = (0..<60).map { index in
            index % 3 == 0 ? server.url("/bad\(index)/\(bad[index / 3 % bad.count])") : server.url(Self.path(index))
        }
        let file = folder.appending(path: "trace")
        let result = try run(["--scroll-through", "--trace", file.path()], urls: urls)
        #expect(result.exitCode == 0, "\(result.output)")
        let resting = try trace(file).filter(\.isAtRest)
        #expect(Set(resting.map(\.url)) == Set(urls))
        for line in resting {
            #expect(line.color == (line.url.path().contains("/bad") ? nil : line.expected), "\(line)")
        }
        try FileManager.default.removeItem(at: folder)
    }

    @Test(
        "Screenshots show the wall and a large image on every display",
        arguments: GalleryDisplay.allCases
    )
    func screenshots(display: GalleryDisplay) throws {
        for extra in [[], ["--open", "1"]] {
            let file = folder.appending(path: "window.png")
            let result = try run(["--screenshot", file.path()] + extra, on: display)
            #expect(result.exitCode == 0, "\(result.output)")
            let picture = try PixbufCoder().decode(Data(contentsOf: file), options: DecodeOptions())
            let scale = display == .denseWayland ? 2 : 1
            #expect(picture.pixelSize.width >= 900 * scale && picture.pixelSize.height >= 600 * scale)
            // A window full of images has thousands of colours, an empty one a few.
            #expect(picture.colorCount > 2000, "\(picture.colorCount) colours in \(extra)")
        }
        try FileManager.default.removeItem(at: folder)
    }

    @Test("The gallery prints its version and its options")
    func help() throws {
        #expect(try ChildProcess.run(Program.gallery, ["--version"]).output == "\(LibraryVersion.current)\n")
        let help = try ChildProcess.run(Program.gallery, ["--help"]).output
        for option in ["--url-list", "--screenshot", "--exit-after", "--cache-dir"] { #expect(help.contains(option)) }
        #expect(try ChildProcess.run(Program.gallery, ["--url-list", "/nowhere"]).exitCode != 0)
    }

    @Test(
        "Options with numbers that mean nothing are refused",
        arguments: [
            ["--size", "99999999999x1"], ["--size", "0x0"], ["--size", "9223372036854775808x1"],
            ["--exit-after", "inf"], ["--exit-after", "nan"], ["--exit-after", "1e300"], ["--exit-after=-1"],
            ["--scale", "3"], ["--count", "0"], ["--count", "1000000000"], ["--open=-1"], ["--screenshot-after=-3"],
        ]
    )
    func oddOptions(arguments: [String]) throws {
        let result = try ChildProcess.run(Program.gallery, arguments)
        // The status of a wrong command line (sysexits(3), EX_USAGE)
        #expect(result.exitCode == 64, "\(result.output)")
    }

    @Test("The gallery quits after the given time")
    func exitAfter() throws {
        let result = try run(["--exit-after", "0.3"])
        #expect(result.exitCode == 0, "\(result.output)")
        try FileManager.default.removeItem(at: folder)
    }
}

extension WebImage {
    fileprivate var colorCount: Int {
        pixels.withUnsafeBytes { bytes in
            let step = pixels.format.bytesPerPixel
            var colors: Set<UInt32> = []
            for index in stride(from: 0, to: bytes.count - step, by: step) {
                colors.insert(UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]))
            }
            return colors.count
        }
    }
}
