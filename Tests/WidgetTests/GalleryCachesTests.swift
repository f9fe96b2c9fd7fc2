import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

/// Loads images of the test's server on the wall, and looks at the page of the caches for them.
@Suite("The caches page of the gallery", .blocking, .serialized)
struct GalleryCachesTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-caches-\(UUID().uuidString)")
    private static let colors: [UInt32] = [0xE8127C, 0x12E85A, 0x3A12E8, 0xE8C812]

    private static func path(_ color: UInt32) -> String { "/\(String(color, radix: 16)).png" }

    private func server() throws -> LocalImageServer {
        try LocalImageServer { request in
            guard let color = UInt32(request.path.dropFirst().prefix(6), radix: 16) else { return .notFound }
            let image = TestImage.solid(color, size: PixelSize(width: 320, height: 240))
            return .ok(image, contentType: "image/png")
        }
    }

    /// Starts the gallery on the caches page, with images of the server on its wall.
    private func screen(_ server: LocalImageServer) throws -> GalleryScreen {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let list = folder.appending(path: "urls.txt")
        try Self.colors.map { server.url(Self.path($0)).absoluteString }.joined(separator: "\n")
            .write(to: list, atomically: true, encoding: .utf8)
        let screen = try GalleryScreen(["--url-list", list.path(), "--page", "caches", "--size", "1000x880"])
        #expect(screen.hasWindow("Caches") && screen.isDrawn, "\(screen.output)")
        return screen
    }

    private func clear(_ screen: GalleryScreen) {
        screen.click(x: 436, y: 131)
        screen.click(x: 574, y: 131)
    }

    /// Where thumbnails have a colour, by their first rows: the rest is partly below a button.
    private func thumbnails(_ color: UInt32, on screen: GalleryScreen) throws -> [(right: Int, top: Int)] {
        try screen.photograph().boxes(of: color, width: 96)
    }

    /// Whether the number of thumbnails of each colour is right, or soon is.
    private func shows(_ colors: [UInt32], on screen: GalleryScreen, _ isRight: (Int) -> Bool) throws -> Bool {
        try screen.eventuallyShows { photo in colors.allSatisfy { isRight(photo.boxes(of: $0, width: 96).count) } }
    }

    @Test("It shows what both caches hold. What is removed comes from the network again, and clearing leaves nothing")
    func contents() throws {
        let (server, removed) = (try server(), Self.colors[1])
        let screen = try screen(server)
        // Given empty caches, but for what the wall has loaded
        clear(screen)
        #expect(try screen.eventuallyShows { $0.colors(x: 268..<960, y: 470..<740).count < 300 })
        #expect(screen.openPage("Wall"), "\(screen.output)")
        #expect(EventLog<Int>.poll { Self.colors.allSatisfy { server.requestCount(path: Self.path($0)) == 1 } })
        // Then each image is in memory and on disk
        #expect(screen.openPage("Caches"), "\(screen.output)")
        #expect(try shows(Self.colors, on: screen) { $0 >= 2 }, "\(screen.output)")
        // When one of them is removed wherever it is
        var rest = try thumbnails(removed, on: screen)
        while let thumbnail = rest.first {
            let count = rest.count
            screen.click(x: thumbnail.right - 15, y: thumbnail.top + 15)
            try #require(shows([removed], on: screen) { $0 < count }, "\(thumbnail) is not removed")
            rest = try thumbnails(removed, on: screen)
        }
        #expect(try shows([Self.colors[0], Self.colors[2], Self.colors[3]], on: screen) { $0 >= 2 })
        // Then it is loaded again, and no other one
        #expect(screen.openPage("Wall"), "\(screen.output)")
        screen.press("F5")
        #expect(EventLog<Int>.poll { server.requestCount(path: Self.path(removed)) == 2 })
        #expect(screen.openPage("Caches"), "\(screen.output)")
        #expect(try shows(Self.colors, on: screen) { $0 >= 2 })
        #expect(Self.colors.allSatisfy { server.requestCount(path: Self.path($0)) == ($0 == removed ? 2 : 1) })
        // When both caches are cleared, then nothing is left
        clear(screen)
        #expect(try shows(Self.colors, on: screen) { $0 == 0 })
    }
}

extension WebImage {
    /// The upper right corners of areas with a colour, which are so many pixels wide.
    fileprivate func boxes(of color: UInt32, width: Int) -> [(right: Int, top: Int)] {
        var found: [(right: Int, top: Int)] = []
        let wanted = [16, 8, 0].map { UInt8(color >> $0 & 255) }
        pixels.withUnsafeBytes { bytes in
            for y in 0..<pixels.size.height {
                var run = 0
                for x in 0...pixels.size.width {
                    let index = y * pixels.bytesPerRow + x * pixels.format.bytesPerPixel
                    let isSame =
                        x < pixels.size.width && bytes[index] == wanted[0] && bytes[index + 1] == wanted[1]
                        && bytes[index + 2] == wanted[2]
                    if isSame {
                        run += 1
                    } else {
                        // A row below a first one belongs to the same area.
                        let isKnown = found.contains { abs($0.right - x) < 20 && y - $0.top < width }
                        if run >= width - 2, !isKnown { found.append((x, y)) }
                        run = 0
                    }
                }
            }
        }
        return found
    }
}
