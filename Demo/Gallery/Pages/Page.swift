import Foundation
import GtkWebImage

/// A page of the gallery: a feature of the library, and the few lines of code that use it.
@MainActor
struct Page {
    /// The name of the page for --page.
    let id: String
    let title: String
    let summary: String
    /// The code sample. A test checks that the files of the page contain the same lines.
    let code: String
    /// Whether the page scrolls by itself and fills the window.
    let isFilling: Bool
    /// The names of the source files that make the page, its own first.
    let files: [String]
    /// Creates the content when the page is first opened.
    let make: @MainActor (PageContext) -> PageContent

    /// - Parameters:
    ///   - parts: The names of further files in Demo/Gallery/Pages that make the page.
    ///   - file: The file of the page.
    nonisolated init(
        id: String,
        title: String,
        summary: String,
        code: String,
        isFilling: Bool = false,
        parts: [String] = [],
        file: String = #fileID,
        make: @escaping @MainActor (PageContext) -> PageContent
    ) {
        (self.id, self.title, self.summary, self.code, self.isFilling) = (id, title, summary, code, isFilling)
        files = [String(file.split(separator: "/").last ?? "")] + parts
        self.make = make
    }

    /// All pages in the order of the sidebar.
    static var all: [Page] { PageGroup.all.flatMap { $0.entries.map(\.page) } }

    /// Whether each word of a text stands in the page's title, summary or id.
    func matches(_ text: String) -> Bool { Self.contains("\(title) \(summary) \(id)", words: text) }

    /// Whether each word of a text stands in the page's title.
    func isNamed(_ text: String) -> Bool { Self.contains(title, words: text) }

    private static func contains(_ text: String, words: String) -> Bool {
        words.split(whereSeparator: \.isWhitespace).allSatisfy { text.localizedStandardContains($0) }
    }
}

/// The content of a page.
@MainActor
struct PageContent {
    let widget: Widget
    /// Whether all visible images are loaded or have failed.
    var isAtRest: () -> Bool = { true }
    /// An object that lives as long as the page.
    var owner: AnyObject?

    /// - Parameter waitsFor: The images on the page.
    init(_ widget: Widget, waitsFor bindings: [any ImageBindable] = [], owner: AnyObject? = nil) {
        self.widget = widget
        self.owner = owner
        isAtRest = { bindings.allSatisfy { $0.isAtRest } }
    }
}

/// The image sources of the pages.
@MainActor
struct PageContext {
    /// The images of the wall.
    let source: any ImageFeed
    /// The server of the bundled images, which also produces failures.
    let server: ImageServer
    /// Whether some cells of the wall load an image that is not theirs.
    var hasWrongImages = false

    /// What the cells of the wall load.
    var requestedURLs: [URL] {
        guard hasWrongImages else { return source.urls }
        // Neighbours in the list are different images.
        return source.urls.indices.map { source.urls[$0.isMultiple(of: 5) ? ($0 + 1) % source.urls.count : $0] }
    }

    /// Returns a bundled image under a new URL, which no cache contains.
    func fresh(_ name: String, _ reply: ImageServer.Reply = .normal) -> URL {
        Self.serial += 1
        return server.url(name, reply, serial: Self.serial)
    }

    /// Returns a bundled image under a new URL that is served slowly.
    /// - Parameter rate: The kB a second.
    func slow(_ name: String, rate: Int) -> URL {
        Self.serial += 1
        return server.url(name, .drip, serial: Self.serial, query: "?rate=\(rate)")
    }

    private static var serial = 0
}
