internal import CWebImageGtk4
import GtkWebImage
import WebImageLinux

/// The content of the inspector: controls, and the requests with the activity, or the details of one.
@MainActor
final class InspectorPane {
    let widget: Widget
    let requests = RequestsView()
    let details = DetailsView()
    let activity: ActivityView
    let pick = toggle("Pick", tooltip: "Click an image in the window to see its request")
    let badges = toggle("Badges", tooltip: "Mark each image with its source and time")
    let clear = button("Clear", tooltip: "Empty the list of requests")
    let close = button(icon: "window-close-symbolic", "Close the inspector")

    private let menu = GObjectBox(adopting: UnsafeMutableRawPointer(g_menu_new()))
    private let actions = GObjectBox(adopting: UnsafeMutableRawPointer(g_simple_action_group_new()))
    private let notice = wrapping(label("", "small", "failure"))
    private let stack = gtk_stack_new()!
    /// The title and the close button.
    let header: Widget

    init(_ activity: ActivityView) {
        Style.load()
        self.activity = activity
        let title = label("Image Inspector", "title-4")
        gtk_widget_set_hexpand(title, 1)
        header = box(GTK_ORIENTATION_HORIZONTAL, [title, close])
        let space = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)!
        gtk_widget_set_hexpand(space, 1)
        let export = named(gtk_menu_button_new(), "Export", tooltip: "Export the requests")
        gtk_menu_button_set_icon_name(export.native, "open-menu-symbolic")
        // Its button has the focus.
        gtk_widget_get_first_child(export)?.setAccessibleLabel("Export")
        gtk_menu_button_set_menu_model(export.native, menu.pointer.assumingMemoryBound(to: GMenuModel.self))
        let controls = box(GTK_ORIENTATION_HORIZONTAL, [pick, badges, space, clear, export])
        let overview = box(GTK_ORIENTATION_VERTICAL, spacing: 12, [activity.widget, requests.widget])
        gtk_stack_add_named(stack.native, overview, "requests")
        gtk_stack_add_named(stack.native, details.widget, "details")
        gtk_widget_set_visible(notice, 0)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 12, [header, controls, notice, stack])
        gtk_widget_add_css_class(widget, "webimage-inspector")
        gtk_widget_set_size_request(widget, 300, -1)
        gtk_widget_insert_action_group(widget, "inspector", actions.opaquePointer)
        details.onBack = { [weak self] in self?.showRequests() }
        onKey(UInt32(GDK_KEY_Escape), in: widget) { [weak self] in
            guard let self, isOn(pick) else { return false }
            setOn(pick, false)
            return true
        }
    }

    var showsDetails: Bool {
        gtk_stack_get_visible_child(stack.native) == details.widget
    }

    func showDetails() {
        gtk_stack_set_visible_child_name(stack.native, "details")
        details.focus()
    }

    func showRequests() {
        gtk_stack_set_visible_child_name(stack.native, "requests")
        requests.list.focus()
    }

    /// Shows why the requests were not saved; nothing for an empty text.
    func showNotice(_ text: String) {
        gtk_label_set_text(notice.native, text)
        gtk_widget_set_visible(notice, text.isEmpty ? 0 : 1)
    }

    /// Adds an entry to the menu.
    func addEntry(_ title: String, action name: String, _ body: @escaping () -> Void) {
        g_menu_append(menu.opaquePointer, title, "inspector.\(name)")
        let action = GObjectBox(adopting: UnsafeMutableRawPointer(g_simple_action_new(name, nil)))
        action.pointer.connect("activate", body)
        g_action_map_add_action(actions.opaquePointer, action.opaquePointer)
    }
}
