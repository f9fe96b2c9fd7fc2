import Foundation
import GtkWebImage

/// A page of the gallery: a feature of the library, and what it calls.
@MainActor
struct Page {
    /// The name of the page for --page.
    let id: String
    let title: String
    let summary: String
    /// What the page shows of the library, as its files call it. The source beside the page marks the lines with it.
    let uses: [String]
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
        uses: [String],
        isFilling: Bool = false,
        parts: [String] = [],
        file: String = #fileID,
        make: @escaping @MainActor (PageContext) -> PageContent
    ) {
        (self.id, self.title, self.summary, self.uses, self.isFilling) = (id, title, summary, uses, isFilling)
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
    let isAtRest: () -> Bool
    /// An object that lives as long as the page.
    let owner: AnyObject?

    /// - Parameter isAtRest: Default: whether no image of the page is loading.
    init(_ widget: Widget, owner: AnyObject? = nil, isAtRest: (() -> Bool)? = nil) {
        (self.widget, self.owner) = (widget, owner)
        self.isAtRest = isAtRest ?? { WidgetPointer(widget).images.runningTasks.isEmpty }
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
    func fresh(_ name: String, _ reply: ImageServer.Reply = .normal, query: String = "") -> URL {
        Self.serial += 1
        return server.url(name, reply, serial: Self.serial, query: query)
    }

    /// Returns a bundled image under a new URL that is served slowly.
    /// - Parameter rate: The kB a second.
    func slow(_ name: String, rate: Int) -> URL { fresh(name, .drip, query: "?rate=\(rate)") }

    private static var serial = 0
}
