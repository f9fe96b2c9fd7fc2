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
        let controls = box(GTK_ORIENTATION_HORIZONTAL, [pick, badges, space, clear])
        let overview = box(GTK_ORIENTATION_VERTICAL, spacing: 12, [activity.widget, requests.widget])
        gtk_stack_add_named(stack.native, overview, "requests")
        gtk_stack_add_named(stack.native, details.widget, "details")
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 12, [header, controls, stack])
        gtk_widget_add_css_class(widget, "webimage-inspector")
        gtk_widget_set_size_request(widget, 300, -1)
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
}
