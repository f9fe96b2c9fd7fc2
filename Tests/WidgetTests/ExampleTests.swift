import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

@Suite("The examples", .blocking, .serialized)
struct ExampleTests {
    private static let color: UInt32 = 0xE8127C

    private static func answer(_ request: ServerRequest) -> ServerResponse {
        .ok(TestImage.solid(color, size: PixelSize(width: 320, height: 240)), contentType: "image/png")
    }

    @Test(
        "Each example shows the image of its URL",
        arguments: ["example-viewer", "example-pointers", "example-ui-file", "example-blueprint"]
    )
    func shows(name: String) throws {
        let server = try LocalImageServer(handler: Self.answer)
        try expectImage(on: GalleryScreen([server.url("/a.png").absoluteString], program: BuiltProgram.path(name)))
    }

    @Test("The list shows the images of a file of URLs")
    func list() throws {
        let server = try LocalImageServer(handler: Self.answer)
        let file = FileManager.default.temporaryDirectory.appending(path: "gwi-urls-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let urls = (0..<100).map { server.url("/\($0).png").absoluteString }
        try urls.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        try expectImage(on: GalleryScreen([file.path()], program: BuiltProgram.path("example-list")))
    }

    @Test(
        "Each app that was ported from another library shows all of its photographs, and its buttons work",
        arguments: ["sdwebimage", "nuke", "kingfisher"]
    )
    func ported(name: String) throws {
        // Given a display and an empty cache
        let cache = FileManager.default.temporaryDirectory.appending(path: "gwi-ported-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: cache) }
        let result = try GalleryDisplay.forScrolling.withEnvironment { environment in
            let environment = Program.strict(environment).merging(["XDG_CACHE_HOME": cache.path()]) { $1 }
            // When the app scrolls through its list and presses its buttons
            let program = BuiltProgram.path("example-from-\(name)")
            return try ChildProcess.run(program, ["--check"], environment: environment)
        }
        // Then each cell has shown its photograph, and the last button a size
        #expect(result.exitCode == 0, "\(result.output)")
        #expect(result.output.contains("60 photographs shown"), "\(result.output)")
        #expect(!result.output.contains("no image"), "\(result.output)")
    }

    private func expectImage(on screen: GalleryScreen) throws {
        let isThere = EventLog<Int>.poll(pause: 50_000) {
            (try? screen.photograph().colors()[Self.color, default: 0]) ?? 0 > 1000
        }
        #expect(isThere, "\(screen.output)")
    }

    @Test(
        "Each example prints its usage without arguments",
        arguments: ["viewer", "pointers", "list", "ui-file", "blueprint"]
    )
    func usage(name: String) throws {
        let result = try ChildProcess.run(BuiltProgram.path("example-\(name)"))
        #expect(result.exitCode == 2 && result.output.hasPrefix("Usage: example-\(name) "), "\(result.output)")
    }
}
