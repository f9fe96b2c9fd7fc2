internal import CWebImageAdwaita
internal import CWebImageGtk4

/// The header above the page: a way back, the title, and buttons.
@MainActor
final class PageHeader {
    let widget: Widget
    var onBack: (() -> Void)?
    var onLeaveFullscreen: (() -> Void)?
    /// The button that shows the source of the page.
    let source = gtk_toggle_button_new()!
    /// The button that opens the inspector.
    let inspector = gtk_toggle_button_new()!
    private let bar: OpaquePointer
    private let titleLabel = PageHeader.line("title")
    private let subtitleLabel = PageHeader.line("subtitle")
    private let back = gtk_button_new_from_icon_name("go-previous-symbolic")!
    private let restore = gtk_button_new_from_icon_name("view-restore-symbolic")!

    init() {
        widget = adw_header_bar_new()
        bar = OpaquePointer(widget)
        let menu = gtk_menu_button_new()!
        gtk_menu_button_set_icon_name(OpaquePointer(menu), "open-menu-symbolic")
        gtk_menu_button_set_primary(OpaquePointer(menu), 1)
        let items = PrimaryMenu.make()
        gtk_menu_button_set_menu_model(OpaquePointer(menu), items)
        g_object_unref(items)
        nameIcon(menu, tr("Main menu"))
        nameIcon(restore, tr("Leave full screen"))
        // The title of AdwWindowTitle does not wrap.
        gtk_label_set_wrap(OpaquePointer(titleLabel), 1)
        gtk_label_set_lines(OpaquePointer(titleLabel), 2)
        gtk_label_set_natural_wrap_mode(OpaquePointer(titleLabel), GTK_NATURAL_WRAP_NONE)
        let titles = box(GTK_ORIENTATION_VERTICAL, spacing: 0, [titleLabel, subtitleLabel])
        gtk_widget_set_valign(titles, GTK_ALIGN_CENTER)
        adw_header_bar_set_title_widget(bar, titles)
        adw_header_bar_pack_start(bar, back)
        adw_header_bar_pack_end(bar, restore)
        gtk_button_set_icon_name(cast(OpaquePointer(source)), "\(AppInfo.identifier)-source-symbolic")
        nameIcon(source, tr("Source"))
        gtk_actionable_set_action_name(OpaquePointer(source), "win.source")
        gtk_button_set_icon_name(cast(OpaquePointer(inspector)), "\(AppInfo.identifier)-inspector-symbolic")
        nameIcon(inspector, tr("Inspector"))
        gtk_actionable_set_action_name(OpaquePointer(inspector), "win.inspector")
        adw_header_bar_pack_end(bar, menu)
        adw_header_bar_pack_end(bar, inspector)
        adw_header_bar_pack_end(bar, source)
        connect(OpaquePointer(back), "clicked") { [weak self] in self?.onBack?() }
        connect(OpaquePointer(restore), "clicked") { [weak self] in self?.onLeaveFullscreen?() }
    }

    /// The buttons that the desktop puts at the start and at the end, without those that minimise and maximise.
    private static var narrowLayout: String {
        var value = GValue()
        g_object_get_property(cast(gtk_settings_get_default()!), "gtk-decoration-layout", &value)
        defer { g_value_unset(&value) }
        let sides = (g_value_get_string(&value).map { String(cString: $0) } ?? ":close").split(
            separator: ":",
            omittingEmptySubsequences: false
        )
        return sides.map { side in
            side.split(separator: ",").filter { $0 != "minimize" && $0 != "maximize" }.joined(separator: ",")
        }.joined(separator: ":")
    }

    /// A line of the title.
    private static func line(_ style: String) -> Widget {
        let line = gtk_label_new("")!
        gtk_label_set_ellipsize(OpaquePointer(line), PANGO_ELLIPSIZE_END)
        gtk_label_set_justify(OpaquePointer(line), GTK_JUSTIFY_CENTER)
        gtk_widget_add_css_class(line, style)
        return line
    }

    /// Adds a widget before those at the end.
    func add(_ widget: Widget) { adw_header_bar_pack_end(bar, widget) }

    /// - Parameters:
    ///   - subtitle: Below the title; an empty one takes no room.
    ///   - backName: Where the button leads back to; `nil` where there is no way back.
    ///   - isNarrow: Whether there is no room for buttons that the menu has, too.
    ///   - isAtStart: Whether buttons of the window that the desktop puts at the start have their place here, not above the sidebar.
    func show(_ title: String, subtitle: String, backName: String?, isNarrow: Bool, isFullscreen: Bool, isAtStart: Bool)
    {
        setText(titleLabel, title)
        setText(subtitleLabel, subtitle)
        gtk_label_set_wrap(OpaquePointer(titleLabel), subtitle.isEmpty ? 1 : 0)
        if let backName { nameIcon(back, backName) }
        let parts = [
            (subtitleLabel, !subtitle.isEmpty), (back, backName != nil), (restore, isFullscreen),
            (source, !isNarrow), (inspector, !isNarrow),
        ]
        for (part, isShown) in parts { gtk_widget_set_visible(part, isShown ? 1 : 0) }
        // The title needs the room of buttons that a narrow window can do without.
        adw_header_bar_set_decoration_layout(bar, isNarrow ? Self.narrowLayout : nil)
        adw_header_bar_set_show_start_title_buttons(bar, isAtStart ? 1 : 0)
    }
}
