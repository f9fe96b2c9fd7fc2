internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import TestSupport
import WebImageDesktop
import WebImageTesting

/// A stage with an image that has a menu, and a server whose files are larger than the image is shown.
@MainActor
final class MenuStage {
    let stage: Stage
    let picture: Picture
    private(set) var errors: [ImageError] = []

    /// The file of every URL.
    nonisolated static let file = (try? solid(0x336699, width: 640, height: 480).data(as: .jpeg)) ?? Data()

    init(_ handler: @escaping @Sendable (ServerRequest) -> ServerResponse = MenuStage.answer) throws {
        stage = try Stage(handler)
        picture = stage.addImage()
        gtk_widget_set_focusable(picture.widget, 1)
        picture.imageMenu = ImageMenu { [weak self] in self?.errors.append($0) }
    }

    nonisolated static func answer(_: ServerRequest) -> ServerResponse { .ok(file, contentType: "image/jpeg") }

    /// Shows an image and waits until it is there.
    func show(_ path: String) {
        let count = stage.results.count
        picture.setImage(with: stage.server.url(path), completion: stage.completion)
        stage.waitForResults(count + 1)
    }

    /// The open menu of a widget.
    func menu(of widget: (any GtkWidgetConvertible)? = nil) -> UnsafeMutablePointer<GtkWidget>? {
        (widget ?? picture).widget.descendants("GtkPopoverMenu").first { gtk_widget_get_mapped($0) != 0 }
    }

    /// Opens the menu as the Menu key does.
    func open(of widget: (any GtkWidgetConvertible)? = nil) throws {
        gtk_widget_activate_action_variant((widget ?? picture).widget, "gwi-image.menu", nil)
        expect(MainLoopPump.run(until: { self.menu(of: widget) != nil }), "no menu")
    }

    /// The titles of the entries of the open menu, those that are disabled in parentheses.
    func entries() throws -> [String] {
        try require(menu(), "no menu").descendants("GtkModelButton").map { entry in
            let title = entry.text("text") ?? ""
            return gtk_widget_is_sensitive(entry) != 0 ? title : "(\(title))"
        }
    }

    /// Chooses an entry of the open menu, as a click on it does, and waits until the menu is gone.
    func choose(_ title: String) throws {
        let entries = try require(menu(), "no menu").descendants("GtkModelButton")
        let entry = try require(entries.first { $0.text("text") == title }, "no entry \(title)")
        expect(gtk_widget_activate(entry) != 0)
        expect(MainLoopPump.run(until: { self.picture.widget.descendants("GtkPopoverMenu").isEmpty }))
    }

    /// The window for the place of a file.
    func saveDialog() throws -> UnsafeMutablePointer<GtkWidget> {
        var found: UnsafeMutablePointer<GtkWidget>?
        _ = MainLoopPump.run(until: {
            found = UnsafeMutablePointer<GtkWidget>.windows.first {
                $0.typeName == "GtkFileChooserDialog" && gtk_widget_get_mapped($0) != 0
            }
            return found != nil
        })
        return try require(found, "no dialog")
    }

    /// Saves the file at a path in the open dialog.
    /// - Returns: The name that the dialog proposes.
    func save(at path: String) throws -> String? {
        let dialog = try saveDialog()
        let entry = try require(dialog.descendants("GtkFileChooserEntry").first, "no entry")
        let name = entry.text("text")
        entry.setText("text", path)
        let button = dialog.descendants("GtkButton").first { $0.text("label")?.contains("Save") == true }
        let accept = try require(button, "no button")
        expect(
            MainLoopPump.run(until: {
                guard UnsafeMutablePointer<GtkWidget>.windows.contains(dialog) else { return true }
                gtk_widget_activate(accept)
                return false
            })
        )
        return name
    }

    /// What the program has put on the clipboard.
    private var content: UnsafeMutablePointer<GdkContentProvider>? {
        gdk_clipboard_get_content(gtk_widget_get_clipboard(picture.widget))
    }

    /// What the clipboard has as a media type.
    func clipboard(_ mediaType: String) -> Data? { content.flatMap { written($0, mediaType) } }

    /// What the clipboard has as a type of GLib.
    func clipboard<T>(_ type: GType, _ body: (inout GValue) -> T?) -> T? {
        var value = GValue()
        g_value_init(&value, type)
        defer { g_value_unset(&value) }
        guard let content, gdk_content_provider_get_value(content, &value, nil) != 0 else { return nil }
        return body(&value)
    }

    var clipboardText: String? {
        clipboard(g_type_from_name("gchararray")) { g_value_get_string(&$0).map { String(cString: $0) } }
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    var typeName: String { String(cString: g_type_name_from_instance(self.as(GTypeInstance.self))) }

    /// The windows of the program.
    @MainActor
    static var windows: [UnsafeMutablePointer<GtkWidget>] {
        let list = gtk_window_get_toplevels()!
        return (0..<g_list_model_get_n_items(list)).compactMap { index in
            let window = g_list_model_get_item(list, index)
            // The list keeps its windows.
            g_object_unref(window)
            return window?.assumingMemoryBound(to: GtkWidget.self)
        }
    }

    /// The widgets of a type within this one, in the order of the tree.
    @MainActor
    func descendants(_ type: String) -> [UnsafeMutablePointer<GtkWidget>] {
        var found: [UnsafeMutablePointer<GtkWidget>] = []
        var child = gtk_widget_get_first_child(self)
        while let next = child {
            found += (next.typeName == type ? [next] : []) + next.descendants(type)
            child = gtk_widget_get_next_sibling(next)
        }
        return found
    }
}
