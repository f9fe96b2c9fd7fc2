internal import CWebImageAdwaita
internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageInspector

/// The window: the sidebar, the selected page with a pane beside it, and the large view of an image of the wall.
@MainActor
final class GalleryWindow {
    /// The width in application pixels that each page has at least while the list is beside it.
    private static let pageWidth = 450
    /// The width of a window with all buttons.
    private static let fullWidth = 860

    let window: Widget
    private let context: PageContext
    private let sidebar = Sidebar()
    private let header = PageHeader()
    private let stack = OpaquePointer(gtk_stack_new()!)
    private let pane: SidePane
    private let panes: OpaquePointer
    private let sourcePane = SourcePane()
    private let showsSource = ToggleAction("source")
    private let line: LineControls
    /// Whether the window is too narrow for all buttons of the header.
    private var hasFewButtons: Bool { didSet { if hasFewButtons != oldValue { updateHeaders() } } }
    private let showsInspector = ToggleAction("inspector")
    private var inspector: ImageInspector?
    /// The pane of the inspector while it is open.
    private var inspectorPane: Widget?
    private let large: LargeView
    private var views: [String: PageView] = [:]
    /// What tasks ask the state of, which may outlive the window by an iteration of the main loop.
    private let owned: [OwnedWidget]

    /// The visible page.
    private(set) var current: PageView?

    init(application: UnsafeMutablePointer<GtkApplication>, context: PageContext, size: (width: Int, height: Int)) {
        self.context = context
        line = LineControls(context.server.line)
        hasFewButtons = size.width < Self.fullWidth
        large = LargeView(context.source)
        window = adw_application_window_new(application)
        pane = SidePane(page: cast(stack))
        panes = OpaquePointer(adw_leaflet_new()!)
        owned = [window, cast(stack), cast(panes)].map(OwnedWidget.init)
        gtk_stack_set_transition_type(stack, GTK_STACK_TRANSITION_TYPE_CROSSFADE)
        // A hidden child would make the window grow: the reason for a failure in the large view is tall where it is narrow.
        gtk_stack_set_hhomogeneous(stack, 0)
        gtk_stack_set_vhomogeneous(stack, 0)
        gtk_stack_add_named(stack, large.widget, "large")
        let native: UnsafeMutablePointer<GtkWindow> = cast(OpaquePointer(window))
        gtk_window_set_default_size(native, Int32(size.width), Int32(size.height))
        adw_application_window_set_content(cast(OpaquePointer(window)), makeContent())
        sidebar.onOpen = { [weak self] in self?.show($0) }
        sidebar.onLeave = { [weak self] in self?.focusBesideList(forward: $0) }
        large.thumbnail = { [weak self] in self?.current?.wall?.thumbnail(at: $0) }
        large.onStep = { [weak self] in self?.updateHeaders() }
        header.onBack = { [weak self] in self?.goBack() }
        header.onLeaveFullscreen = { [weak self] in self?.toggleFullscreen() }
        connect(OpaquePointer(window), "notify::fullscreened") { [weak self] in self?.updateHeaders() }
        pane.onChange = { [weak self] in self?.updateTools() }
        addActions()
        header.add(line.button)
        addInspector()
        updateHeaders()
    }

    func present() {
        gtk_window_present(cast(OpaquePointer(window)))
    }

    /// Maximises the window in a browser, which has no desktop to show beside it.
    func fillBrowser() {
        let display: OpaquePointer = gtk_widget_get_display(window)!
        guard String(cString: g_type_name_from_instance(cast(display))) == "GdkBroadwayDisplay" else { return }
        gtk_window_maximize(cast(OpaquePointer(window)))
    }

    /// Shows a page.
    /// - Returns: Whether the page exists.
    @discardableResult
    func showPage(_ id: String) -> Bool { sidebar.open(id) }

    /// Opens the inspector in the pane.
    func showInspector() { inspector?.isOpen = true }

    /// Opens the source of the page in the pane.
    func showSource() { pane.content = sourcePane.widget }

    /// The source of the page, if it is shown.
    var shownSource: String? { pane.content == sourcePane.widget ? sourcePane.text : nil }

    /// Opens the large view of an image of the wall.
    func open(_ number: Int) {
        large.show(number)
        gtk_stack_set_visible_child_name(stack, "large")
        large.focus()
        updateHeaders()
    }

    /// Whether all visible images are loaded or have failed.
    var isAtRest: Bool {
        guard gtk_stack_get_transition_running(stack) == 0, adw_leaflet_get_child_transition_running(panes) == 0 else {
            return false
        }
        return isLarge ? large.isAtRest : current?.isAtRest ?? true
    }

    private var isLarge: Bool { gtk_stack_get_visible_child(stack) == large.widget }
    /// Whether the window is too narrow for the sidebar beside the page.
    private var isNarrow: Bool { adw_leaflet_get_folded(panes) != 0 }

    private func show(_ page: Page) {
        let view = views[page.id] ?? PageView(page, context)
        if views[page.id] == nil {
            views[page.id] = view
            gtk_stack_add_named(stack, view.widget, page.id)
            view.wall?.onActivate = { [weak self] number in self?.open(number) }
        }
        current = view
        large.close()
        gtk_stack_set_visible_child_name(stack, page.id)
        adw_leaflet_navigate(panes, ADW_NAVIGATION_DIRECTION_FORWARD)
        if pane.coversPage { pane.content = nil }
        updateSource()
        updateHeaders()
    }

    /// Goes one step back: from the search, a pane over the page, the large view, or in a narrow window from the page.
    private func goBack() {
        let isListShown = !isNarrow || adw_leaflet_get_visible_child(panes) == sidebar.widget
        if isListShown, sidebar.endSearch() { return }
        if pane.coversPage {
            pane.content = nil
        } else if isLarge, let current {
            large.close()
            // The stack would give the focus back to the cell that had it before.
            gtk_root_set_focus(OpaquePointer(window), nil)
            gtk_stack_set_visible_child_name(stack, current.page.id)
            current.wall?.focus(at: large.number)
            updateHeaders()
        } else if isNarrow {
            adw_leaflet_navigate(panes, ADW_NAVIGATION_DIRECTION_BACK)
            sidebar.focusCurrentRow()
        }
    }

    // Layout

    private func makeContent() -> Widget {
        gtk_widget_set_hexpand(pane.widget, 1)
        gtk_widget_set_vexpand(pane.widget, 1)
        let column = box(GTK_ORIENTATION_VERTICAL, spacing: 0, [header.widget, pane.widget])
        let page = bin(naturalWidth: Self.pageWidth, column)
        gtk_widget_set_hexpand(page, 1)
        // By the least widths, which differ, the list would come and go from page to page.
        adw_leaflet_set_fold_threshold_policy(panes, ADW_FOLD_THRESHOLD_POLICY_NATURAL)
        adw_leaflet_append(panes, sidebar.widget)
        let line = adw_leaflet_append(panes, gtk_separator_new(GTK_ORIENTATION_VERTICAL))
        adw_leaflet_page_set_navigatable(line, 0)
        adw_leaflet_append(panes, page)
        adw_leaflet_set_visible_child(panes, page)
        adw_leaflet_set_can_navigate_back(panes, 1)
        // A window that opens narrow would be seen to become so.
        adw_leaflet_set_mode_transition_duration(panes, 0)
        connect(panes, "notify::folded") { [weak self] in self?.updateHeaders() }
        connect(OpaquePointer(window), "realize") { [weak self] in
            guard let surface = (self?.window).flatMap({ gtk_native_get_surface(OpaquePointer($0)) }) else { return }
            connect(surface, "notify::width") { [weak self] in
                self?.hasFewButtons = Int(gdk_surface_get_width(surface)) < Self.fullWidth
            }
        }
        let overlay = adw_toast_overlay_new()!
        adw_toast_overlay_set_child(OpaquePointer(overlay), cast(panes))
        return overlay
    }

    private func updateHeaders() {
        let title = isLarge ? large.title : current?.page.title ?? ""
        header.show(
            title,
            subtitle: isLarge ? large.position : "",
            backName: isLarge ? tr("Back to the wall") : isNarrow ? tr("Pages") : nil,
            isNarrow: hasFewButtons,
            isFullscreen: gtk_window_is_fullscreen(cast(OpaquePointer(window))) != 0,
            isAtStart: isNarrow
        )
        gtk_window_set_title(cast(OpaquePointer(window)), title)
        line.isNarrow = hasFewButtons
        line.pageHasOwnLines = current?.page.id == Page.compare.id
        sidebar.showsWindowButtons = isNarrow
    }

    /// Moves the focus from the list of pages to what is beside it, or from the end of the window to its other end.
    private func focusBesideList(forward: Bool) {
        let direction = forward ? GTK_DIR_TAB_FORWARD : GTK_DIR_TAB_BACKWARD
        if !isNarrow {
            let places = forward ? [header.widget, pane.widget] : [pane.widget, header.widget]
            for place in places where gtk_widget_child_focus(place, direction) != 0 { return }
        }
        sidebar.focus(first: forward)
    }

    // Actions

    private func addActions() {
        let actions: [(String, () -> Void)] = [
            ("close", { [window] in gtk_window_close(cast(OpaquePointer(window))) }),
            ("back", { [weak self] in self?.goBack() }),
            ("search", { [weak self] in self?.search() }), ("next", { [weak self] in self?.sidebar.step(1) }),
            ("previous", { [weak self] in self?.sidebar.step(-1) }), ("reload", { [weak self] in self?.reload() }),
            ("fullscreen", { [weak self] in self?.toggleFullscreen() }),
        ]
        for (name, body) in actions { addAction(name, to: OpaquePointer(window), body) }
        showsSource.add(to: OpaquePointer(window)) { [weak self] in
            guard let self else { return }
            pane.content = pane.content == sourcePane.widget ? nil : sourcePane.widget
        }
        gwi_application_window_set_help_overlay(cast(OpaquePointer(window)), ShortcutsWindow.make())
    }

    private func addInspector() {
        inspector = ImageInspector.install(in: WidgetPointer(window)) { [weak self] opened in
            guard let self else { return }
            let opened = opened?.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self)
            if opened != nil || pane.content == inspectorPane { pane.content = opened }
            inspectorPane = opened
            updateTools()
        }
        showsInspector.add(to: OpaquePointer(window)) { [weak self] in self?.inspector?.toggle() }
    }

    private func updateTools() {
        // The source has taken the place of the inspector.
        if inspectorPane != nil, pane.content != inspectorPane { inspector?.isOpen = false }
        showsInspector.isOn = inspectorPane != nil
        updateSource()
    }

    private func updateSource() {
        showsSource.isOn = pane.content == sourcePane.widget
        if showsSource.isOn, let current { sourcePane.show(current.page) }
    }

    private func search() {
        adw_leaflet_navigate(panes, ADW_NAVIGATION_DIRECTION_BACK)
        sidebar.startSearch()
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
}
