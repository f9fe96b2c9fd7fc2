internal import CWebImageGtk4
import Glibc
import GtkWebImage
import WebImageLinux

/// What UIKit does for the original apps: a table with cells that are used again, buttons above it, and a window around both.
@MainActor
public final class PhotoTable {
    let photos: [Photo]
    private let makeCell: @MainActor () -> PhotoCell
    private let window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
    private let column = UnsafeMutableRawPointer(gtk_box_new(GTK_ORIENTATION_VERTICAL, 6)!)
    private let bar = UnsafeMutableRawPointer(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6)!)
    private let status = OpaquePointer(gtk_label_new(nil)!)
    let scrolled = OpaquePointer(gtk_scrolled_window_new()!)
    /// The cells by the list item that holds them.
    var cells: [OpaquePointer: PhotoCell] = [:]
    /// What the buttons do, in their order.
    private(set) var actions: [@MainActor () async -> Void] = []
    /// The GtkListView.
    public let listView: UnsafeMutableRawPointer

    /// The text beside the buttons.
    public var statusText = "" {
        didSet { gtk_label_set_text(status, statusText) }
    }

    /// Makes a table of photographs with cells of a class.
    public init(_ title: String, _ photos: [Photo], cell: PhotoCell.Type) {
        self.photos = photos
        makeCell = { cell.init() }
        listView = UnsafeMutableRawPointer(gtk_list_view_new(nil, nil)!)
        gtk_scrolled_window_set_child(scrolled, listView.assumingMemoryBound(to: GtkWidget.self))
        gtk_widget_set_vexpand(UnsafeMutablePointer(scrolled), 1)
        append(bar, to: column)
        append(UnsafeMutableRawPointer(scrolled), to: column)
        append(UnsafeMutableRawPointer(status), to: bar)
        gtk_window_set_title(window, title)
        gtk_window_set_default_size(window, 640, 720)
        gtk_window_set_child(window, column.assumingMemoryBound(to: GtkWidget.self))
        fill()
    }

    /// Adds a button above the table.
    public func addButton(_ title: String, action: @escaping @MainActor () async -> Void) {
        let button = UnsafeMutableRawPointer(gtk_button_new_with_label(title)!)
        append(button, to: bar)
        button.connect("clicked") { Task { await action() } }
        actions.append(action)
    }

    /// Shows the window until it is closed. With the argument --check it scrolls through the table by itself, presses the
    /// buttons, and ends with status 0 when each cell has shown its photograph.
    public func run() -> Never {
        gtk_window_present(window)
        if CommandLine.arguments.contains("--check") { Check(self).start() }
        while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
        exit(0)
    }

    /// Gives the view its rows. It makes some of them at once, so the factory's signals are connected before.
    private func fill() {
        let model = gtk_string_list_new(nil)!
        for photo in photos { gtk_string_list_append(model, photo.title) }
        let factory = gtk_signal_list_item_factory_new()!
        let raw = UnsafeMutableRawPointer(factory)
        // The table lives as long as the process.
        func connect(_ signal: String, _ body: @escaping (PhotoTable, OpaquePointer) -> Void) {
            raw.connectWithArgument(signal) { body(self, OpaquePointer(bitPattern: $0)!) }
        }
        connect("setup") { table, item in table.setUp(item) }
        connect("bind") { table, item in table.cells[item]?.bind(table.photos[Int(gtk_list_item_get_position(item))]) }
        connect("unbind") { table, item in table.cells[item]?.unbind() }
        connect("teardown") { table, item in table.cells[item] = nil }
        gtk_list_view_set_factory(OpaquePointer(listView), factory)
        g_object_unref(raw)
        let selection = gtk_no_selection_new(model)!
        gtk_list_view_set_model(OpaquePointer(listView), selection)
        g_object_unref(UnsafeMutableRawPointer(selection))
    }

    private func setUp(_ item: OpaquePointer) {
        let cell = makeCell()
        cells[item] = cell
        gtk_list_item_set_child(item, cell.row)
    }

    private func append(_ widget: UnsafeMutableRawPointer, to box: UnsafeMutableRawPointer) {
        gtk_box_append(box.assumingMemoryBound(to: GtkBox.self), widget.assumingMemoryBound(to: GtkWidget.self))
    }
}
