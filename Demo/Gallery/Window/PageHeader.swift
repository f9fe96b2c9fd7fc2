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
    private let titleWidget = OpaquePointer(adw_window_title_new("", nil)!)
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
        adw_header_bar_set_title_widget(bar, cast(titleWidget))
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

    /// Adds a widget before those at the end.
    func add(_ widget: Widget) { adw_header_bar_pack_end(bar, widget) }

    var title = "" {
        didSet { adw_window_title_set_title(titleWidget, title) }
    }

    var subtitle = "" {
        didSet { adw_window_title_set_subtitle(titleWidget, subtitle) }
    }

    /// Whether there is no room for buttons that the menu has, too.
    var isNarrow = false {
        didSet { for button in [source, inspector] { gtk_widget_set_visible(button, isNarrow ? 0 : 1) } }
    }

    var canGoBack = false {
        didSet { gtk_widget_set_visible(back, canGoBack ? 1 : 0) }
    }

    /// Where the button leads back to.
    var backName = "" {
        didSet { nameIcon(back, backName) }
    }

    var isFullscreen = false {
        didSet { gtk_widget_set_visible(restore, isFullscreen ? 1 : 0) }
    }

    /// Whether buttons of the window that the desktop puts at the start have their place here, not above the sidebar.
    var showsWindowButtonsAtStart = false {
        didSet { adw_header_bar_set_show_start_title_buttons(bar, showsWindowButtonsAtStart ? 1 : 0) }
    }
}
