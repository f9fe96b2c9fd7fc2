import Foundation
import Synchronization
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageLinux
import WebImageTesting

/// Scrolls the wall of the gallery through images of the test's server.
@Suite("The wall of the gallery", .blocking, .serialized)
struct GalleryWallTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-wall-\(UUID().uuidString)")

    /// - Returns: How many loads ended in each way, as the wall counts them.
    private func scrolledThrough(_ urls: [URL]) throws -> [String: Int] {
        let (list, trace) = (folder.appending(path: "urls.txt"), folder.appending(path: "trace"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try urls.map(\.absoluteString).joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
        let result = try GalleryDisplay.forScrolling.runGallery([
            "--url-list", list.path(), "--scroll-through", "--trace", trace.path(),
            "--cache-dir", folder.appending(path: "cache").path(),
        ])
        #expect(result.exitCode == 0, "\(result.output)")
        let lines = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
        let counts = try #require(lines.first { $0.hasPrefix("counted ") }).dropFirst("counted ".count)
        let pairs = counts.split(separator: ", ").map { $0.split(separator: " ") }
        return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[1]), Int($0[0]) ?? -1) })
    }

    @Test("Its counters tell each load once: memory, disk, network, failed or cancelled")
    func counters() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        // Given a hundred images, the last fifty of which are the first fifty again, and five that are missing
        let server = try LocalImageServer { request in
            guard let color = UInt32(request.path.dropFirst().prefix(6), radix: 16) else { return .notFound }
            return .ok(TestImage.solid(color, size: PixelSize(width: 320, height: 240)), contentType: "image/png")
        }
        let images = (0..<50).map { server.url("/\(String(0x101010 + $0 * 0x31, radix: 16)).png") }
        let missing = (0..<5).map { server.url("/missing-\($0).png") }
        // When they are scrolled through
        let first = try scrolledThrough(images + missing + images)
        // Then each image came from the network, and from memory when it was seen again. Loads that join others count, too.
        #expect(try #require(first["network"]) >= 50, "\(first)")
        #expect(images.allSatisfy { server.requestCount(path: $0.path()) == 1 })
        #expect(try #require(first["memory"]) >= 50, "\(first)")
        #expect(try #require(first["failed"]) >= 5, "\(first)")
        #expect(first["disk"] == 0, "\(first)")
        // And no load is counted twice
        let ends = ["memory", "disk", "network", "failed", "cancelled"].compactMap { first[$0] }.reduce(0, +)
        #expect(first["loads"] == ends, "\(first)")
        // When the gallery is started again
        let second = try scrolledThrough(images)
        // Then they come from the disk
        #expect(try #require(second["disk"]) >= 50 && second["network"] == 0, "\(second)")
    }

    @Test("Failed images on screen are loaded again by themselves once the server answers")
    func healing() throws {
        let isWell = Synchronization.Mutex(false)
        let server = try LocalImageServer { request in
            guard request.path != "/19.png" else { return .notFound }
            guard isWell.withLock({ $0 }) else { return .status(503) }
            let image = TestImage.solid(0x12A45C, size: PixelSize(width: 320, height: 240))
            return .ok(image, contentType: "image/png")
        }
        let list = folder.appending(path: "urls.txt")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try (0..<20).map { server.url("/\($0).png").absoluteString }.joined(separator: "\n")
            .write(to: list, atomically: true, encoding: .utf8)
        let screen = try GalleryScreen(["--url-list", list.path()])
        let hasFailed = EventLog<Int>.poll(pause: 50_000) { server.requestCount(path: "/0.png") > 1 }
        #expect(hasFailed, "\(screen.output)")
        #expect(try screen.photograph().colors()[0x12A45C] == nil)
        isWell.withLock { $0 = true }
        let isShown = EventLog<Int>.poll(pause: 50_000) {
            (try? screen.photograph().colors()[0x12A45C]) ?? 0 > 12 * 160 * 110
        }
        #expect(isShown, "\(screen.output)")
        #expect(server.requestCount(path: "/19.png") == 1, "an image that is not there")
    }

    @Test("The button of the line shows which one is chosen, and the list has none that means nothing")
    func chosenLine() throws {
        let screen = try GalleryScreen(["--page", "buttons", "--size", "1000x720"])
        #expect(screen.hasWindow("Buttons and icons") && screen.isDrawn, "\(screen.output)")
        /// Whether the button has text in the colour of an error, or soon has.
        func isRed() throws -> Bool {
            try screen.eventuallyShows(seconds: 20) { photo in
                photo.colors(x: 640..<760, y: 10..<45).keys.contains { color in
                    color >> 16 > 0xA0 && color >> 8 & 255 < 0x60 && color & 255 < 0x60
                }
            }
        }
        try screen.settledPixels()
        screen.click(x: 710, y: 32)
        try screen.settledPixels()
        // The last entry of the list is the line on which things go wrong.
        for key in ["space", "End", "Return"] {
            screen.press(key)
            try screen.settledPixels()
        }
        #expect(try isRed(), "\(screen.output)")
    }

    @Test("No image comes through a tunnel, and all come through chaos")
    func lines() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let trace = folder.appending(path: "trace")
        let result = try GalleryDisplay.broadway.runGallery([
            "--line", "tunnel", "--trace", trace.path(), "--screenshot", folder.appending(path: "window.png").path(),
            "--cache-dir", folder.appending(path: "cache").path(),
        ])
        #expect(result.exitCode == 0, "\(result.output)")
        let lines = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("requested ") })
        // The header names the line.
        #expect(lines.contains("text Tunnel"))
        let images = lines.filter { $0.hasPrefix("rest ") }
        #expect(images.count > 12 && images.allSatisfy { $0.hasSuffix(" nothing") }, "\(images)")
        let screen = try GalleryScreen(["--line", "chaos"])
        let size = PixelSize(width: 177, height: 119)
        for name in ["dusk-mountains.jpg", "sea-waves.jpg", "coffee.jpg", "lighthouse.jpg", "raccoon.jpg"] {
            let options = DecodeOptions(size: .cover(size))
            let image = try CoderRegistry.builtIn.decode(ShippedImage.data(name), options: options)
            let isShown = EventLog<Int>.poll(pause: 50_000) {
                (try? screen.photograph().count(of: image, size: size)) == 1
            }
            #expect(isShown, "\(name)")
        }
    }
}
