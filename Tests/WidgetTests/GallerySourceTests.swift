import Foundation
import TestSupport
import TestTraits
import Testing
import WebImageTesting

@testable import webimage_gallery

@Suite("The source beside the pages of the gallery", .blocking, .serialized)
struct GallerySourceTests {
    private static let pages = URL(filePath: #filePath).appending(path: "../../../Demo/Gallery/Pages").standardized

    @Test(
        "It has all lines of the files that make the page",
        arguments: [
            ("buttons", ["ButtonsPage.swift"]), ("transformers", ["TransformersPage.swift", "TransformerTile.swift"]),
        ]
    )
    func lines(page: String, files: [String]) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gwi-source-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let trace = folder.appending(path: "trace")
        // When the page is opened with its source
        let result = try GalleryDisplay.broadway.runGallery([
            "--page", page, "--source", "--size", "1000x720", "--trace", trace.path(),
            "--screenshot", folder.appending(path: "window.png").path(),
            "--cache-dir", folder.appending(path: "cache").path(),
        ])
        #expect(result.exitCode == 0, "\(result.output)")
        let shown = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("source ") }.map { $0.dropFirst("source ".count) }
        // Then the pane has what the compiler read
        var expected: [Substring] = []
        for file in files {
            let text = try String(contentsOf: Self.pages.appending(path: file), encoding: .utf8)
            expected += text.split(separator: "\n")
        }
        #expect(!shown.isEmpty)
        #expect(shown.filter { !$0.isEmpty } == expected)
    }

    @Test("It opens with Ctrl+U, and its button copies it into the clipboard")
    func copy() throws {
        let screen = try GalleryScreen(["--page", "links", "--size", "1000x720"])
        #expect(screen.hasWindow("Try a URL") && screen.isDrawn, "\(screen.output)")
        let before = try screen.settledPixels()
        screen.press("ctrl+u")
        #expect(try screen.settledPixels(after: before) != before)
        // When one pastes into the entry of the page, then its text changes only after a click on the button
        func entry() -> [UInt32: Int]? { try? screen.photograph().colors(x: 270..<540, y: 118..<145) }
        func paste() {
            screen.click(x: 400, y: 131)
            screen.press("ctrl+a")
            screen.press("ctrl+v")
            // Without the cursor and a selection, the colours are those of the text.
            screen.press("Home")
            screen.press("Tab")
        }
        paste()
        try screen.settledPixels()
        let old = try #require(entry())
        paste()
        try screen.settledPixels()
        #expect(entry() == old)
        screen.click(x: 972, y: 75)
        paste()
        #expect(EventLog<Int>.poll(pause: 50_000) { entry() != old })
    }

    @Test("The lines that it marks are there for each page")
    @MainActor func uses() throws {
        for page in Page.all {
            let files = try page.files.map { try String(contentsOf: Self.pages.appending(path: $0), encoding: .utf8) }
                .joined()
            let lines = files.split(separator: "\n").filter { !$0.hasPrefix("        uses: [") }
            #expect(!page.uses.isEmpty)
            for use in page.uses {
                #expect(lines.contains { $0.contains(use) }, "\(page.id): \(use)")
            }
        }
    }
}
