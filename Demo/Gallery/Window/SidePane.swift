internal import CWebImageAdwaita
internal import CWebImageGtk4

/// The pane at the end side of the page, which covers the page when there is no room for both.
@MainActor
final class SidePane {
    let widget: Widget
    /// Called when the pane opens, closes or changes.
    var onChange: (() -> Void)?
    private let flap = OpaquePointer(adw_flap_new()!)
    /// The pane. All have the same width where there is room for it.
    private let frame = bin(naturalWidth: 440)

    init(page: Widget) {
        widget = cast(flap)
        // The page asks for no more than its least width, so that the pane comes to its own width first.
        let page = bin(naturalWidth: 0, page)
        gtk_widget_set_hexpand(page, 0)
        adw_flap_set_content(flap, page)
        adw_flap_set_flap(flap, frame)
        adw_flap_set_separator(flap, gtk_separator_new(GTK_ORIENTATION_VERTICAL))
        adw_flap_set_flap_position(flap, GTK_PACK_END)
        adw_flap_set_swipe_to_open(flap, 0)
        adw_flap_set_reveal_flap(flap, 0)
        // It would otherwise close a pane that has just opened, as soon as it finds that there is no room for both.
        adw_flap_set_locked(flap, 1)
        gtk_widget_add_css_class(frame, "background")
        // What is left of a wide window belongs to the page.
        gtk_widget_set_hexpand(frame, 0)
        // A swipe and a click beside a pane that covers the page close it, too.
        connect(flap, "notify::reveal-flap") { [weak self] in
            guard let self else { return }
            if adw_flap_get_reveal_flap(flap) == 0, content != nil { content = nil }
        }
    }

    /// The widget in the pane, or `nil` when the pane is closed. Where there is no room for both, it covers the page.
    var content: Widget? {
        didSet {
            guard content != oldValue else { return }
            // A pane that closes keeps its widget until another one comes, so that it is seen to leave.
            if let content, adw_bin_get_child(cast(OpaquePointer(frame))) != content {
                adw_bin_set_child(cast(OpaquePointer(frame)), content)
            }
            adw_flap_set_reveal_flap(flap, content == nil ? 0 : 1)
            onChange?()
        }
    }

    /// Whether the pane is open and covers the page.
    var coversPage: Bool { content != nil && adw_flap_get_folded(flap) != 0 }
}
