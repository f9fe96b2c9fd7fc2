internal import CWebImageGtk4
import GtkWebImage
import WebImageLinux

/// The content of the inspector: controls, activity, and the list of requests or the details of one.
@MainActor
final class InspectorPane {
    let widget: Widget
    let list = WaterfallList()
    let details = DetailsView()
    let activity: ActivityView

    var onPick: (Bool) -> Void = { _ in }
    var onBadges: (Bool) -> Void = { _ in }
    var onClear: () -> Void = {}
    var onClose: () -> Void = {}

    private let pick: Widget
    private let badges: Widget
    private let stack = gtk_stack_new()!
    private let header = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6)

    init(_ activity: ActivityView) {
        Style.load()
        self.activity = activity
        pick = toggle("Pick", tooltip: "Click an image in the window to see its request")
        badges = toggle("Badges", tooltip: "Mark each image with its source and time")
        let space = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)!
        gtk_widget_set_hexpand(space, 1)
        let controls = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [pick, badges, space])
        let requests = box(
            GTK_ORIENTATION_VERTICAL,
            spacing: 6,
            [label("Requests", "heading"), Legend.make(), list.widget]
        )
        gtk_widget_set_vexpand(list.widget, 1)
        gtk_stack_add_named(stack.native, requests, "requests")
        gtk_stack_add_named(stack.native, details.widget, "details")
        let content = box(
            GTK_ORIENTATION_VERTICAL,
            spacing: 12,
            [controls, label("Activity", "heading"), activity.widget, stack]
        )
        content.setMargins(12)
        gtk_widget_set_vexpand(content, 1)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 0, [header, content])
        gtk_widget_add_css_class(widget, "webimage-inspector")
        gtk_widget_set_size_request(widget, 300, -1)
        let clear = button("Clear", tooltip: "Empty the list of requests") { [weak self] in self?.onClear() }
        gtk_box_append(controls.cast(to: GtkBox.self), clear)
        onToggle(pick) { [weak self] in self?.onPick($0) }
        onToggle(badges) { [weak self] in self?.onBadges($0) }
        details.onBack = { [weak self] in self?.showRequests() }
        makeHeader()
        onKey(UInt32(GDK_KEY_Escape), in: widget) { [weak self] in
            guard let self, isPicking else { return false }
            setPicking(false)
            return true
        }
    }

    /// Whether the button that picks an image is pressed.
    var isPicking: Bool { gtk_toggle_button_get_active(pick.cast(to: GtkToggleButton.self)) != 0 }

    func setPicking(_ isPicking: Bool) {
        gtk_toggle_button_set_active(pick.cast(to: GtkToggleButton.self), isPicking ? 1 : 0)
    }

    func setBadges(_ isOn: Bool) {
        gtk_toggle_button_set_active(badges.cast(to: GtkToggleButton.self), isOn ? 1 : 0)
    }

    /// Hides the title and close button, which a separate window has in its title bar.
    func hideHeader() {
        gtk_widget_set_visible(header, 0)
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
        list.focus()
    }

    private func makeHeader() {
        let title = label("Image Inspector", "title-4")
        gtk_widget_set_hexpand(title, 1)
        let close = button(icon: "window-close-symbolic", "Close the inspector")
        close.raw.connect("clicked") { [weak self] in self?.onClose() }
        for child in [title, close] { gtk_box_append(header.cast(to: GtkBox.self), child) }
        header.setMargins(12)
        gtk_widget_set_margin_bottom(header, 0)
    }
}
