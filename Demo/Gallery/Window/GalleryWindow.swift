internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageInspector
import GtkWebImageWidgets

/// The window: the list of pages, the selected page, and the large view of an image of the wall.
@MainActor
final class GalleryWindow {
    /// The width in application pixels below which either the list or the page is visible.
    private static let narrowWidth = 640

    let window: Widget
    private let context: PageContext
    private let list = PageList()
    private let stack = OpaquePointer(gtk_stack_new()!)
    private let large = Picture()
    private let back: Widget
    private let listButton: OpaquePointer
    private var views: [String: PageView] = [:]
    private var isNarrow = false

    /// The visible page.
    private(set) var current: PageView?

    init(application: UnsafeMutablePointer<GtkApplication>, context: PageContext, size: (width: Int, height: Int)) {
        self.context = context
        window = gtk_application_window_new(application)
        listButton = OpaquePointer(gtk_toggle_button_new()!)
        back = gtk_button_new_from_icon_name("go-previous-symbolic")
        gtk_stack_set_transition_type(stack, GTK_STACK_TRANSITION_TYPE_CROSSFADE)
        gtk_stack_set_hhomogeneous(stack, 0)
        gtk_widget_set_hexpand(cast(stack), 1)
        gtk_widget_set_hexpand(large.widget, 1)
        gtk_widget_set_vexpand(large.widget, 1)
        gtk_stack_add_named(stack, large.widget, "large")
        let body = box(GTK_ORIENTATION_HORIZONTAL, spacing: 0, [list.widget, cast(stack)])
        let native: UnsafeMutablePointer<GtkWindow> = cast(OpaquePointer(window))
        gtk_window_set_title(native, tr("Gallery"))
        gtk_window_set_default_size(native, Int32(size.width), Int32(size.height))
        gtk_window_set_child(native, body)
        gtk_window_set_titlebar(native, makeHeader())
        list.onSelect = { [weak self] in self?.show($0) }
        connect(OpaquePointer(window), "realize") { [weak self] in self?.watchWidth() }
        addActions()
        ImageInspector.install(in: WidgetPointer(window))
        isNarrow = size.width < Self.narrowWidth
    }

    func present() {
        gtk_window_present(cast(OpaquePointer(window)))
    }

    /// Shows a page.
    /// - Returns: Whether the page exists.
    @discardableResult
    func showPage(_ id: String) -> Bool { list.select(id) }

    /// Opens the large view of an image of the wall, which loads progressively.
    func open(_ number: Int) {
        let url = context.source.largeURL(for: context.source.urls[number])
        gtk_stack_set_visible_child_name(stack, "large")
        gtk_widget_set_visible(back, 1)
        gtk_widget_set_visible(cast(listButton), 0)
        large.setImage(
            with: url,
            placeholder: .icon("image-x-generic-symbolic", pixelSize: 64),
            loading: .progressive,
            options: BindingOptions(whileLoading: .currentImage)
        )
        large.setImageDescription(url.lastPathComponent)
    }

    /// Returns from the large view; in a narrow window, from the page to the list.
    func close() {
        if gtk_widget_get_mapped(large.widget) != 0, let current {
            large.cancelCurrentImageLoad()
            gtk_stack_set_visible_child_name(stack, current.page.id)
            gtk_widget_set_visible(back, 0)
            gtk_widget_set_visible(cast(listButton), 1)
        } else if isNarrow {
            setListShown(true)
        }
    }

    /// Whether all visible images are loaded or have failed.
    var isAtRest: Bool {
        guard gtk_stack_get_transition_running(stack) == 0 else { return false }
        if gtk_widget_get_mapped(large.widget) != 0 { return large.isAtRest }
        return current?.isAtRest ?? true
    }

    private func show(_ page: Page) {
        let view = views[page.id] ?? PageView(page, context)
        if views[page.id] == nil {
            views[page.id] = view
            gtk_stack_add_named(stack, view.widget, page.id)
            view.wall?.onActivate = { [weak self] number in self?.open(number) }
        }
        current = view
        large.cancelCurrentImageLoad()
        gtk_widget_set_visible(back, 0)
        gtk_widget_set_visible(cast(listButton), 1)
        gtk_stack_set_visible_child_name(stack, page.id)
        gtk_window_set_title(cast(OpaquePointer(window)), page.title)
        if isNarrow { setListShown(false) }
    }

    // The header

    private func makeHeader() -> Widget {
        let header = gtk_header_bar_new()!
        gtk_button_set_icon_name(cast(listButton), "view-list-symbolic")
        gtk_widget_set_tooltip_text(cast(listButton), tr("Pages"))
        gtk_toggle_button_set_active(cast(listButton), 1)
        gtk_widget_set_tooltip_text(back, tr("Back to the wall"))
        gtk_widget_set_visible(back, 0)
        gtk_header_bar_pack_start(OpaquePointer(header), back)
        gtk_header_bar_pack_start(OpaquePointer(header), cast(listButton))
        let menu = gtk_menu_button_new()!
        gtk_menu_button_set_icon_name(OpaquePointer(menu), "open-menu-symbolic")
        gtk_menu_button_set_primary(OpaquePointer(menu), 1)
        gtk_menu_button_set_menu_model(OpaquePointer(menu), PrimaryMenu.make())
        gtk_widget_set_tooltip_text(menu, tr("Main menu"))
        gtk_header_bar_pack_end(OpaquePointer(header), menu)
        connect(OpaquePointer(back), "clicked") { [weak self] in self?.close() }
        connect(listButton, "toggled") { [weak self] in
            guard let self else { return }
            setListShown(gtk_toggle_button_get_active(cast(listButton)) != 0)
        }
        return header
    }

    private func setListShown(_ isShown: Bool) {
        gtk_toggle_button_set_active(cast(listButton), isShown ? 1 : 0)
        gtk_widget_set_visible(list.widget, isShown ? 1 : 0)
        gtk_widget_set_visible(cast(stack), isNarrow && isShown ? 0 : 1)
        gtk_widget_set_hexpand(list.widget, isNarrow ? 1 : 0)
    }

    private func watchWidth() {
        guard let surface = gtk_native_get_surface(OpaquePointer(window)) else { return }
        connectLayout(surface) { [weak self] width in
            guard let self, (width < Self.narrowWidth) != isNarrow else { return }
            isNarrow.toggle()
            // Deferred, because widgets must not change within a layout.
            Task { self.setListShown(!self.isNarrow) }
        }
    }

    // Actions

    private func addActions() {
        let actions: [(String, () -> Void)] = [
            ("close", { [weak self] in self?.destroy() }), ("back", { [weak self] in self?.close() }),
            ("search", { [weak self] in self?.search() }), ("next", { [weak self] in self?.list.step(1) }),
            ("previous", { [weak self] in self?.list.step(-1) }), ("reload", { [weak self] in self?.reload() }),
            ("fullscreen", { [weak self] in self?.toggleFullscreen() }),
        ]
        for (name, body) in actions { addAction(name, to: OpaquePointer(window), body) }
        gwi_application_window_set_help_overlay(cast(OpaquePointer(window)), ShortcutsWindow.make())
    }

    private func search() {
        setListShown(true)
        list.focusSearch()
    }

    /// Recreates the page.
    private func reload() {
        guard let current else { return }
        views[current.page.id] = nil
        gtk_stack_remove(stack, current.widget)
        show(current.page)
    }

    private func toggleFullscreen() {
        let native: UnsafeMutablePointer<GtkWindow> = cast(OpaquePointer(window))
        if gtk_window_is_fullscreen(native) != 0 {
            gtk_window_unfullscreen(native)
        } else {
            gtk_window_fullscreen(native)
        }
    }

    private func destroy() {
        gtk_window_close(cast(OpaquePointer(window)))
    }
}
