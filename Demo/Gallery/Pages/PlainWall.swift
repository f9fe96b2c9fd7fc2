internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// The wall as one writes it with plain GTK: a cell that is bound downloads its file, and shows it when it is there. Nothing is
/// cancelled or kept, each file is decoded at its full size on the main thread, and a cell that is used again is not protected
/// from what it asked for before.
@MainActor
final class PlainWall {
    let grid: WallGrid
    private let cells = PlainCells()

    /// - Parameters:
    ///   - columns: The fewest and the most columns.
    ///   - download: Fetches the bytes of a URL.
    init(urls: [URL], columns: ClosedRange<Int>, download: @escaping Download) {
        let model = WallGrid.model(of: urls)
        grid = WallGrid(Self.makeGrid(model, urls: urls, cells: cells, download: download), columns: columns)
    }

    /// Fetches the bytes of a URL and passes them on as GBytes, or `nil` for an error.
    typealias Download = (URL, _ completion: @escaping @MainActor (OpaquePointer?) -> Void) -> Void

    // All that an app writes without the library.

    private static func makeGrid(
        _ model: OpaquePointer,
        urls: [URL],
        cells: PlainCells,
        download: @escaping Download
    ) -> Widget {
        let factory = gtk_signal_list_item_factory_new()!
        connect(factory, "setup") { item in
            let picture = gtk_picture_new()!
            gtk_picture_set_content_fit(OpaquePointer(picture), GTK_CONTENT_FIT_COVER)
            gtk_widget_set_size_request(picture, 160, 120)
            gtk_list_item_set_child(item, picture)
            cells.insert(picture)
        }
        connect(factory, "bind") { item in
            let picture = gtk_list_item_get_child(item)!
            let url = urls[Int(gtk_list_item_get_position(item))]
            cells.willLoad(url, in: picture)
            g_object_ref(picture)
            download(url) { bytes in
                let texture = bytes.flatMap { gdk_texture_new_from_bytes($0, nil) }
                if let texture { gtk_picture_set_paintable(OpaquePointer(picture), texture) }
                cells.hasLoaded(texture, of: url, in: picture)
                if let texture { g_object_unref(UnsafeMutableRawPointer(texture)) }
                g_object_unref(picture)
            }
        }
        return gtk_grid_view_new(gtk_no_selection_new(model), factory)
    }
}

extension PlainWall: ComparedWall {
    var cellsInView: [ComparedCell] { cells.all.filter { grid.shows($0.picture) }.map(\.compared) }

    /// A texture of a JPEG file has three bytes a pixel.
    var pixelByteCount: Int { cells.all.map { $0.pixelCount * 3 }.reduce(0, +) }

    var isAtRest: Bool { cells.runningCount == 0 }
}
