internal import CWebImageGtk4
public import GtkWebImage
import WebImageLinux

/// Shows the loads of a running app: a waterfall of requests, their details, the widgets that show their images, frame times and
/// memory. Use it in debug builds.
///
///     #if DEBUG
///         ImageInspector.install(in: WidgetPointer(window))
///     #endif
///
/// F12 opens and closes it. While the inspector is closed, it observes nothing and draws nothing.
@preconcurrency @MainActor
public final class ImageInspector {
    private static let quark = g_quark_from_string("gtk-web-image-inspector")

    /// `nil` once the window is destroyed. The app may keep this object longer.
    private var window: Widget?
    private let manager: ImageManager
    private let showPane: ((WidgetPointer?) -> Void)?
    private var ownWindow: Widget?
    private var opensWhenRealized = false

    /// The session; `nil` while the inspector is closed.
    private(set) var session: InspectorSession?

    /// Adds the inspector to a window, which owns it. A second call for the window returns the first inspector. The widgets of the
    /// window keep their parents.
    /// - Parameters:
    ///   - window: The GtkWindow, realized or not.
    ///   - manager: The manager whose loads are shown. Default: the shared one.
    ///   - showPane: Called when the inspector opens, to place its widget next to the content of the window, and with `nil` when it
    ///     closes, to remove the widget. The widget is at least 300 application pixels wide. Default: the inspector opens a
    ///     separate window.
    @discardableResult
    public static func install(
        in window: some GtkWidgetConvertible,
        manager: ImageManager = .shared,
        showPane: ((_ pane: WidgetPointer?) -> Void)? = nil
    ) -> ImageInspector {
        let object = window.nativeWidgetPointer.assumingMemoryBound(to: GObject.self)
        if let existing = g_object_get_qdata(object, quark) {
            return Unmanaged<ImageInspector>.fromOpaque(existing).takeUnretainedValue()
        }
        let widget = window.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self)
        let inspector = ImageInspector(widget, manager, showPane)
        g_object_set_qdata_full(object, quark, Unmanaged.passRetained(inspector).toOpaque()) {
            let inspector = Unmanaged<ImageInspector>.fromOpaque($0!).takeRetainedValue()
            MainActor.assumeIsolated { (inspector.isOpen, inspector.window) = (false, nil) }
        }
        return inspector
    }

    /// Unavailable. A raw pointer does not say what it points to, so wrap it.
    @available(*, unavailable, message: "write install(in: WidgetPointer(window))")
    @discardableResult
    public static func install(
        in window: UnsafeMutableRawPointer,
        manager: ImageManager = .shared,
        showPane: ((_ pane: WidgetPointer?) -> Void)? = nil
    ) -> ImageInspector { fatalError("A pointer is no widget") }

    private init(_ window: Widget, _ manager: ImageManager, _ showPane: ((WidgetPointer?) -> Void)?) {
        (self.window, self.manager, self.showPane) = (window, manager, showPane)
        onKey(UInt32(GDK_KEY_F12), in: window) { [weak self] in
            self?.toggle()
            return true
        }
        window.raw.connect("realize") { [weak self] in
            guard let self, opensWhenRealized else { return }
            isOpen = true
        }
        // An unrealized window has no frames, and a destroyed one must not keep the inspector's children.
        for signal in ["unrealize", "destroy"] { window.raw.connect(signal) { [weak self] in self?.isOpen = false } }
    }

    /// Whether the inspector is open. If the window is not realized yet, the inspector opens with it. Default: `false`.
    public var isOpen: Bool {
        get { session != nil }
        set {
            opensWhenRealized = newValue && session == nil
            guard newValue != isOpen else { return }
            if newValue { open() } else { close() }
        }
    }

    /// Opens the inspector, or closes it.
    public func toggle() {
        isOpen.toggle()
    }

    private func open() {
        guard let window, gtk_widget_get_realized(window) != 0, let clock = gtk_widget_get_frame_clock(window) else {
            return
        }
        opensWhenRealized = false
        let session = InspectorSession(window, clock, manager)
        self.session = session
        session.pane.close.raw.connect("clicked") { [weak self] in self?.isOpen = false }
        if let showPane {
            showPane(WidgetPointer(session.pane.widget.raw))
        } else {
            // A separate window has them in its title bar.
            gtk_widget_set_visible(session.pane.header, 0)
            showOwnWindow(session.pane.widget)
        }
    }

    private func showOwnWindow(_ content: Widget) {
        let own = gtk_window_new()!
        let native = own.cast(to: GtkWindow.self)
        gtk_window_set_title(native, "Image Inspector")
        gtk_window_set_default_size(native, 380, 720)
        gtk_window_set_child(native, content)
        onKey(UInt32(GDK_KEY_F12), in: own) { [weak self] in
            self?.isOpen = false
            return true
        }
        // The handler destroys the window: GTK leaves this to handlers of the signal.
        own.raw.connect("destroy") { [weak self] in
            self?.ownWindow = nil
            self?.isOpen = false
        }
        ownWindow = own
        gtk_window_present(native)
    }

    private func close() {
        guard let session = session.take() else { return }
        session.end()
        showPane?(nil)
        if let own = ownWindow.take() { gtk_window_destroy(own.cast(to: GtkWindow.self)) }
    }
}
