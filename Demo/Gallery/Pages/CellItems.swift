internal import CWebImageGtk4
import FoundationEssentials

/// The items of a GtkStringList of URLs that are in the cells of its list at present, as GTK tells them.
@MainActor
final class CellItems {
    private var urls: [Widget: URL] = [:]

    /// Follows the cells of a GtkSignalListItemFactory.
    func follow(_ factory: OpaquePointer) {
        connect(factory, "bind") { [weak self] item in
            guard let child = gtk_list_item_get_child(item), let object = gtk_list_item_get_item(item) else { return }
            self?.urls[child] = URL(string: String(cString: gtk_string_object_get_string(OpaquePointer(object))))
        }
        connect(factory, "unbind") { [weak self] item in
            guard let child = gtk_list_item_get_child(item) else { return }
            self?.urls[child] = nil
        }
    }

    /// The URL of the item in a cell.
    /// - Parameter child: The widget that the factory has put into the cell.
    func url(in child: Widget) -> URL? { urls[child] }
}
