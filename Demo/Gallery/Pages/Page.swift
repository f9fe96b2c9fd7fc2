import Foundation
import GtkWebImage

/// A page of the gallery: what the library does, and the few lines of code that do it.
@MainActor
struct Page {
    /// For --page.
    let id: String
    let title: String
    let summary: String
    /// As it stands in the file of the page, which a test compares.
    let code: String
    /// Whether it scrolls by itself and wants all the room there is.
    var isFilling = false
    /// Makes what is shown; called when the page is opened for the first time.
    let make: @MainActor (PageContext) -> PageContent

    /// In the order of the list.
    static var all: [Page] {
        [
            wall, progressive, animation, buttons, orientation, density, failures, placeholders, transitions,
            transformers, prefetching, caches, zoom, links, accessibility,
        ]
    }

    func matches(_ text: String) -> Bool {
        text.isEmpty || "\(title) \(summary) \(id)".localizedStandardContains(text)
    }
}

/// What a page shows.
@MainActor
struct PageContent {
    let widget: Widget
    /// Whether all that can be seen has come.
    var isAtRest: () -> Bool = { true }
    /// Kept as long as the page is.
    var owner: AnyObject?

    /// - Parameter waitsFor: The images that it has.
    init(_ widget: Widget, waitsFor bindings: [any ImageBindable] = [], owner: AnyObject? = nil) {
        self.widget = widget
        self.owner = owner
        isAtRest = { bindings.allSatisfy { $0.isAtRest } }
    }
}

/// What pages are given.
@MainActor
struct PageContext {
    /// The images of the wall.
    let source: any ImageFeed
    /// The shipped images, and those that cannot be had.
    let server: ImageServer

    /// A shipped image under a URL that was never asked for before, so that no cache has it.
    func fresh(_ name: String, _ line: ImageServer.Line = .normal) -> URL {
        PageContext.serial += 1
        return server.url(name, line, serial: PageContext.serial)
    }

    private static var serial = 0
}
