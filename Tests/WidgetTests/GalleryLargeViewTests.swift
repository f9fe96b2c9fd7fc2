import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

/// Opens images of the test's server in the large view. Each has a colour of its own, and its large version another one.
@Suite("The large view of the gallery", .blocking, .serialized)
struct GalleryLargeViewTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-large-\(UUID().uuidString)")

    private static func thumbnailColor(_ number: Int) -> UInt32 { 0x206040 + UInt32(number) * 0x010301 }
    private static func largeColor(_ number: Int) -> UInt32 { thumbnailColor(number) ^ 0xC00000 }
    private static func title(_ number: Int) -> String { "image \(number)" }
    private static func largePath(_ number: Int) -> String { "/1600/1200/image-\(number).png" }

    /// - Parameters:
    ///   - gates: Hold the large versions of images back.
    ///   - hasLarge: Whether there are large versions.
    private func server(gates: [Int: ServerGate] = [:], hasLarge: Bool = true) throws -> LocalImageServer {
        try LocalImageServer { request in
            guard let match = request.path.firstMatch(of: /image-(\d+)/), let number = Int(match.1) else {
                return .notFound
            }
            let isLarge = request.path.contains("/1600/1200/")
            if isLarge && !hasLarge { return .notFound }
            let color = isLarge ? Self.largeColor(number) : Self.thumbnailColor(number)
            let size = isLarge ? PixelSize(width: 800, height: 600) : PixelSize(width: 320, height: 240)
            var response = ServerResponse.ok(TestImage.solid(color, size: size), contentType: "image/png")
            if isLarge { response.faults.gate = gates[number] }
            return response
        }
    }

    /// Starts the gallery with images of the server on its wall, and opens the first.
    private func screen(_ server: LocalImageServer, count: Int) throws -> GalleryScreen {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let list = folder.appending(path: "urls.txt")
        try (0..<count).map { server.url("/640/480/image-\($0).png").absoluteString }.joined(separator: "\n")
            .write(to: list, atomically: true, encoding: .utf8)
        let screen = try GalleryScreen(["--url-list", list.path(), "--size", "1000x720"])
        #expect(screen.hasWindow("Wall"), "\(screen.output)")
        #expect(shows(Self.thumbnailColor(0), pixels: 10_000, on: screen), "\(screen.output)")
        screen.click(x: 340, y: 170)
        #expect(screen.hasWindow(Self.title(0)), "\(screen.output)")
        return screen
    }

    /// Whether a colour fills so many pixels, now or soon.
    private func shows(_ color: UInt32, pixels: Int = 250_000, on screen: GalleryScreen) -> Bool {
        EventLog<Int>.poll(pause: 50_000) { (try? screen.photograph().colors()[color]) ?? 0 > pixels }
    }

    @Test("A click on an image opens it in large, with its thumbnail in its place until it has loaded")
    func opening() throws {
        let gate = ServerGate()
        let server = try server(gates: [0: gate])
        defer { server.stop() }
        let screen = try screen(server, count: 12)
        #expect(shows(Self.thumbnailColor(0), on: screen))
        #expect(try screen.photograph().colors()[Self.largeColor(0)] == nil)
        gate.open()
        #expect(shows(Self.largeColor(0), on: screen))
        #expect(try screen.photograph().colors()[Self.thumbnailColor(0)] == nil)
    }

    @Test("The window keeps its size when the large view of an image that failed is left")
    func failure() throws {
        let server = try server(hasLarge: false)
        let screen = try screen(server, count: 3)
        #expect(EventLog<Int>.poll(pause: 50_000) { server.requestCount(path: Self.largePath(0)) >= 1 })
        // An icon is drawn over the thumbnail when it has failed, and then nothing moves.
        let hasIcon = try screen.eventuallyShows { photo in
            let colors: [UInt32: Int] = photo.colors(x: 270..<990, y: 100..<700)
            return colors[Self.thumbnailColor(0)] ?? 0 > 100_000 && colors.count > 20
        }
        #expect(hasIcon)
        try screen.settledPixels()
        screen.press("Escape")
        #expect(screen.hasWindow("Wall"))
        try screen.settledPixels()
        // The window ends at 720, and nothing of it is below.
        #expect(try screen.photograph().colors(x: 0..<1000, y: 730..<900).count == 1)
    }

    @Test("Keys and buttons lead to the neighbours, which are fetched ahead, and no further than the ends")
    func stepping() throws {
        let server = try server()
        let screen = try screen(server, count: 3)
        #expect(shows(Self.largeColor(0), on: screen))
        #expect(EventLog<Int>.poll(pause: 50_000) { server.requestCount(path: Self.largePath(1)) == 1 })
        #expect(server.requestCount(path: Self.largePath(2)) == 0)
        screen.press("Right")
        #expect(screen.hasWindow(Self.title(1)) && shows(Self.largeColor(1), on: screen))
        #expect(EventLog<Int>.poll(pause: 50_000) { server.requestCount(path: Self.largePath(2)) == 1 })
        for _ in 0..<3 { screen.press("Right") }
        #expect(screen.hasWindow(Self.title(2)) && shows(Self.largeColor(2), on: screen))
        screen.press("Left")
        #expect(screen.hasWindow(Self.title(1)))
        for _ in 0..<3 { screen.press("Left") }
        #expect(screen.hasWindow(Self.title(0)) && shows(Self.largeColor(0), on: screen))
        // The buttons lie over the image at its ends.
        screen.click(x: 970, y: 370)
        #expect(screen.hasWindow(Self.title(1)))
        screen.click(x: 970, y: 370)
        #expect(screen.hasWindow(Self.title(2)))
        screen.click(x: 282, y: 370)
        #expect(screen.hasWindow(Self.title(1)))
        // Each was fetched once.
        #expect((0..<3).allSatisfy { server.requestCount(path: Self.largePath($0)) == 1 })
    }

    @Test("Escape leads back to the cell of the image that was shown last, in view and with the focus")
    func escape() throws {
        let server = try server()
        defer { server.stop() }
        let screen = try screen(server, count: 200)
        for _ in 0..<60 { screen.press("Right") }
        #expect(screen.hasWindow(Self.title(60)), "\(screen.output)")
        screen.press("Escape")
        #expect(screen.hasWindow("Wall"))
        #expect(shows(Self.thumbnailColor(60), pixels: 10_000, on: screen))
        #expect(try screen.photograph().colors()[Self.thumbnailColor(0)] == nil)
        screen.press("Return")
        #expect(screen.hasWindow(Self.title(60)))
    }

    @Test("The loads of images that one has passed are cancelled, so that they hold up no other")
    func cancelling() throws {
        // Given twenty large images that never arrive
        let gate = ServerGate()
        let server = try server(gates: Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, gate) }))
        let screen = try screen(server, count: 24)
        // When one goes past all of them
        for number in 1...21 {
            #expect(EventLog<Int>.poll(pause: 50_000) { server.requestCount(path: Self.largePath(number - 1)) == 1 })
            screen.press("Right")
            #expect(screen.hasWindow(Self.title(number)))
        }
        // Then the next one is shown, though a host has no room for so many transfers
        #expect(shows(Self.largeColor(21), on: screen), "\(screen.output)")
    }
}
