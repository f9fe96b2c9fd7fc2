import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

@Suite("The gallery in a browser", .blocking, .serialized)
struct GalleryBrowserTests {
    private static let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    private static let cache = FileManager.default.temporaryDirectory.appending(
        path: "gwi-browser-\(UUID().uuidString)"
    )

    /// Starts the gallery on a page of a browser, and calls back.
    private func open(_ arguments: [String] = [], on broadway: BroadwayDisplay, _ body: (DaemonProcess) throws -> Void)
        throws
    {
        let gallery = try DaemonProcess(
            Program.gallery,
            arguments + ["--cache-dir", Self.cache.path()],
            environment: broadway.environment
        )
        defer {
            gallery.stop()
            try? FileManager.default.removeItem(at: Self.cache)
        }
        try body(gallery)
    }

    @Test("The window fills the page, and follows its size")
    func fills() throws {
        let broadway = try BroadwayDisplay.start(width: 1280, height: 800)
        try open(on: broadway) { gallery in
            for (width, height) in [(1280, 800), (900, 640), (1500, 1000)] {
                broadway.resize(width: width, height: height)
                let isFilled = EventLog<Int>.poll(pause: 50_000) {
                    broadway.windows == [PixelRect(x: 0, y: 0, width: width, height: height)]
                }
                #expect(isFilled, "\(broadway.windows) on a page of \(width)x\(height); \(gallery.output)")
            }
        }
    }

    @Test("The window keeps a size that is asked for")
    func size() throws {
        let server = try LocalImageServer { _ in .notFound }
        let list = FileManager.default.temporaryDirectory.appending(path: "gwi-list-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: list) }
        try server.url("/image.png").absoluteString.write(to: list, atomically: true, encoding: .utf8)
        let broadway = try BroadwayDisplay.start(width: 1280, height: 800)
        try open(["--size", "700x500", "--url-list", list.path()], on: broadway) { gallery in
            // An image is requested once its widget has been laid out in the window. How many frames it takes until
            // then depends on the load of the machine.
            let isShown = EventLog<Int>.poll(pause: 50_000) {
                broadway.windows.contains { $0.size.width >= 700 } && !server.requests.isEmpty
            }
            #expect(isShown, "\(gallery.output)")
            // The surface includes the shadow of the window.
            #expect(broadway.windows.allSatisfy { $0.size.width < 900 && $0.size.height < 700 }, "\(broadway.windows)")
        }
    }

    @Test(
        "In Chromium the window fills the page over Broadway, and shows its images",
        .enabled(if: Self.chromium != nil, "Chromium is not installed")
    )
    func browser() throws {
        // Given the gallery on Broadway with images of unique colours
        let colors: [UInt32] = [0xE8127C, 0x12E85A, 0x3A12E8, 0xE8C812, 0x12C4E8, 0x7CE812]
        let server = try LocalImageServer { request in
            let name = request.path.split(separator: "/").last?.split(separator: ".").first
            guard let color = name.flatMap({ UInt32($0, radix: 16) }) else { return .notFound }
            return .ok(TestImage.solid(color, size: PixelSize(width: 320, height: 240)), contentType: "image/png")
        }
        let list = FileManager.default.temporaryDirectory.appending(path: "gwi-list-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: list) }
        let urls = colors.map { server.url("/\(String($0, radix: 16)).png").absoluteString }
        try urls.joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
        let broadway = try BroadwayDisplay.start()
        try open(["--dark", "--url-list", list.path()], on: broadway) { gallery in
            try show(colors, of: gallery, on: broadway)
        }
    }

    private func show(_ colors: [UInt32], of gallery: DaemonProcess, on broadway: BroadwayDisplay) throws {
        // When Chromium opens the page
        let profile = Self.cache.path() + "-profile"
        defer { try? FileManager.default.removeItem(atPath: profile) }
        let screen = try GalleryScreen(
            [
                // The sandbox does not work as root, which containers run as.
                "--no-sandbox", "--test-type", "--disable-gpu", "--no-first-run", "--user-data-dir=\(profile)",
                "--window-position=0,0", "--window-size=1280,800", "--app=http://127.0.0.1:\(broadway.httpPort)/",
            ],
            program: Self.chromium ?? ""
        )
        // Then each image is visible
        var missing = colors
        let isThere = EventLog<Int>.poll(pause: 50_000) {
            let counts = (try? screen.photograph().colors()) ?? [:]
            missing = colors.filter { counts[$0, default: 0] < 2000 }
            return missing.isEmpty
        }
        #expect(isThere, "\(missing) are not seen; \(screen.output.suffix(500)) \(gallery.output)")
        // And nothing is seen of the page, which is white, beside the window, which is dark but for its texts
        let edges = [(x: 1100..<1270, y: 0..<790), (x: 0..<1270, y: 740..<790)]
        let isFilled = try screen.eventuallyShows { image in
            edges.allSatisfy { image.colors(x: $0.x, y: $0.y)[0xFFFFFF, default: 0] < $0.x.count * $0.y.count / 10 }
        }
        #expect(isFilled)
    }
}
