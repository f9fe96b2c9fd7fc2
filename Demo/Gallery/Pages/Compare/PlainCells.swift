internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// What the cells of the plain wall were bound to, and what they show. It watches them for the figures and changes nothing.
@MainActor
final class PlainCells {
    struct Cell {
        let picture: Widget
        var wanted: URL?
        var shown: URL?
        var pixelCount = 0

        var compared: ComparedCell {
            guard let wanted, let shown else { return ComparedCell(url: wanted, content: .nothing) }
            let isOwn = wanted.lastPathComponent == shown.lastPathComponent
            return ComparedCell(url: wanted, content: isOwn ? .own : .other)
        }
    }

    private var cells: [UnsafeMutableRawPointer: Cell] = [:]
    /// The loads that have not ended.
    private(set) var runningCount = 0

    var all: [Cell] { Array(cells.values) }

    func insert(_ picture: Widget) {
        let address = UnsafeMutableRawPointer(picture)
        cells[address] = Cell(picture: picture)
        connect(OpaquePointer(picture), "destroy") { [weak self] in self?.cells[address] = nil }
    }

    func willLoad(_ url: URL, in picture: Widget) {
        if let cell = gtk_widget_get_parent(picture) { setName(cell, url.imageTitle) }
        runningCount += 1
        cells[UnsafeMutableRawPointer(picture)]?.wanted = url
    }

    /// - Parameter texture: `nil` when the load has failed.
    func hasLoaded(_ texture: OpaquePointer?, of url: URL, in picture: Widget) {
        runningCount -= 1
        guard let texture else { return }
        let pixelCount = Int(gdk_texture_get_width(texture)) * Int(gdk_texture_get_height(texture))
        cells[UnsafeMutableRawPointer(picture)]?.shown = url
        cells[UnsafeMutableRawPointer(picture)]?.pixelCount = pixelCount
    }
}
