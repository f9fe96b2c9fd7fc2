import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageCore
import WebImageTesting

/// Takes pages and panes away while the gallery still works on them. Freed memory is overwritten, so that its use ends the program.
@Suite("What the gallery does when a page goes away", .blocking, .serialized)
struct GalleryLeavingTests {
    private static let wallButton = (x: 952, y: 692)

    private func screen(_ page: String, _ title: String) throws -> GalleryScreen {
        let screen = try GalleryScreen(
            ["--page", page, "--size", "1000x720"],
            environment: ["G_DEBUG": "fatal-criticals", "G_SLICE": "always-malloc", "MALLOC_PERTURB_": "165"]
        )
        #expect(screen.hasWindow(title) && screen.isDrawn, "\(screen.output)")
        return screen
    }

    /// The rows of all pages here in which no animation moves.
    private static let still = 60..<235

    /// The colours of the first images, which are not animated.
    private func colors(_ photo: WebImage) -> [UInt32: Int] { photo.colors(x: 270..<980, y: 120..<235) }

    /// Waits until a page moves: the wall after it is flung, the comparison by itself.
    private func start(_ page: String, on screen: GalleryScreen) throws {
        #expect(try screen.eventuallyShows { colors($0).count > 2000 })
        guard page == "wall" else { return }
        try screen.settledPixels(rows: Self.still)
        let before = try colors(screen.photograph())
        screen.click(x: Self.wallButton.x, y: Self.wallButton.y)
        #expect(try screen.eventuallyShows { colors($0) != before })
    }

    @Test("A page that is reloaded while it works starts again", arguments: [("wall", "Wall"), ("compare", "Compare")])
    func reload(page: String, title: String) throws {
        let screen = try screen(page, title)
        try start(page, on: screen)
        screen.press("F5")
        // Then it shows images, and can be started and closed
        try start(page, on: screen)
        screen.press("ctrl+q")
        #expect(screen.exitCode() == 0, "\(screen.output)")
    }

    @Test(
        "A window that is closed while a page works ends the gallery without an error",
        arguments: [("wall", "Wall"), ("compare", "Compare")]
    )
    func close(page: String, title: String) throws {
        let screen = try screen(page, title)
        try start(page, on: screen)
        screen.press("ctrl+w")
        #expect(screen.exitCode() == 0, "\(screen.output)")
    }

    @Test("Stop ends a fling that is still being prepared")
    func stop() throws {
        let screen = try screen("wall", "Wall")
        let button = Self.wallButton
        screen.point(x: button.x, y: button.y)
        #expect(try screen.eventuallyShows { colors($0).count > 2000 })
        try screen.settledPixels(rows: Self.still)
        // On a busy machine an image may be late.
        var (before, equalCount) = ([UInt32: Int](), 0)
        #expect(
            try screen.eventuallyShows { photo in
                let now = colors(photo)
                equalCount = now == before && now.count > 5000 ? equalCount + 1 : 0
                before = now
                return equalCount == 5
            }
        )
        // The first press starts it, the second one comes before any frame.
        screen.click(x: button.x, y: button.y, times: 2)
        #expect(try !screen.eventuallyShows(seconds: 8) { colors($0) != before })
        screen.press("ctrl+q")
        #expect(screen.exitCode() == 0, "\(screen.output)")
    }

    @Test("The source comes back after the inspector has taken its place")
    func sourceAndInspector() throws {
        let screen = try screen("links", "Try a URL")
        let page = try screen.settledPixels()
        screen.press("ctrl+u")
        let source = try screen.settledPixels(after: page)
        screen.press("F12")
        let inspector = try screen.settledPixels(after: source)
        #expect(source != page && inspector != source)
        screen.press("ctrl+u")
        let again = try screen.settledPixels(after: inspector)
        #expect(again != inspector && again != page, "\(screen.output)")
        screen.press("ctrl+q")
        #expect(screen.exitCode() == 0, "\(screen.output)")
    }

    @Test(
        "A page that is reloaded while it waits for the caches works on",
        arguments: [("caches", "Caches", 574), ("prefetching", "Prefetching", 505)]
    )
    func reloadWhileWaiting(page: String, title: String, button: Int) throws {
        let screen = try screen(page, title)
        try screen.settledPixels(rows: Self.still)
        // The reload comes before the answer of the disk.
        for _ in 0..<5 { screen.click(x: button, y: 131, key: "F5") }
        #expect(screen.openPage("Wall"), "\(screen.output)")
        screen.press("ctrl+q")
        #expect(screen.exitCode() == 0, "\(screen.output)")
    }
}
