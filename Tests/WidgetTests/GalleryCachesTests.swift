import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

/// Loads images of the test's server on the wall, and clears the caches of them.
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
        let screen = try GalleryScreen(["--url-list", list.path(), "--page", "caches", "--size", "1000x720"])
        #expect(screen.hasWindow("Caches") && screen.isDrawn, "\(screen.output)")
        return screen
    }

    /// The rows with the levels of the memory cache and of the disk cache.
    private static let levels = [180..<220, 250..<290]

    private func level(_ number: Int, _ photo: WebImage) -> [UInt32: Int] {
        photo.colors(x: 268..<960, y: Self.levels[number])
    }

    /// Whether the wall has or soon has asked so often for each image.
    private func isRequested(_ count: Int, of server: LocalImageServer) -> Bool {
        EventLog<Int>.poll(pause: 50_000) {
            Self.colors.allSatisfy { server.requestCount(path: Self.path($0)) == count }
        }
    }

    @Test("It shows that each of the caches is cleared, and then the images come from the network again")
    func clearing() throws {
        let server = try server()
        let screen = try screen(server)
        // Given images of the wall in both caches
        #expect(screen.openPage("Wall"), "\(screen.output)")
        #expect(isRequested(1, of: server))
        #expect(screen.openPage("Caches"), "\(screen.output)")
        // When each is cleared with its button, then its level says so
        for (number, button) in [(1, 574), (0, 436)] {
            try screen.settledPixels(rows: Self.levels[number])
            let full = try level(number, screen.photograph())
            screen.click(x: button, y: 131)
            #expect(try screen.eventuallyShows { level(number, $0) != full })
        }
        // And the wall asks for each image again
        #expect(screen.openPage("Wall"), "\(screen.output)")
        screen.press("F5")
        #expect(isRequested(2, of: server))
    }
}
