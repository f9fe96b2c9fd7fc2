internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// The window: a wall of pictures, and one of them large.
@MainActor
final class GalleryWindow {
    let window: UnsafeMutablePointer<GtkWidget>
    let wall: PictureWall
    private let stack: OpaquePointer
    private let large = Picture()
    private let back: OpaquePointer
    private let source: any PictureSource

    init(application: UnsafeMutablePointer<GtkApplication>, source: any PictureSource) {
        self.source = source
        wall = PictureWall(urls: source.urls)
        window = gtk_application_window_new(application)
        stack = OpaquePointer(gtk_stack_new())
        back = OpaquePointer(gtk_button_new_from_icon_name("go-previous-symbolic"))

        let native = cast(OpaquePointer(window), to: GtkWindow.self)
        gtk_window_set_title(native, "Gallery")
        gtk_window_set_default_size(native, 1000, 720)
        gtk_stack_set_transition_type(stack, GTK_STACK_TRANSITION_TYPE_CROSSFADE)
        gtk_stack_add_named(stack, wall.widget, "wall")
        let picture = large.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self)
        gtk_widget_set_hexpand(picture, 1)
        gtk_widget_set_vexpand(picture, 1)
        gtk_stack_add_named(stack, picture, "large")
        gtk_window_set_child(native, cast(stack))

        let header = gtk_header_bar_new()!
        gtk_header_bar_pack_start(OpaquePointer(header), cast(back))
        gtk_widget_set_tooltip_text(cast(back), "Back to the wall")
        gtk_widget_hide(cast(back))
        gtk_window_set_titlebar(native, header)

        wall.onActivate = { [weak self] number in self?.open(number) }
        connect(back, "clicked") { [weak self] in self?.close() }
        addShortcut(GDK_KEY_Escape) { [weak self] in self?.close() }
        addShortcut(GDK_KEY_q, GDK_CONTROL_MASK) { g_application_quit(g_application_get_default()) }
    }

    func present() {
        gtk_window_present(cast(OpaquePointer(window)))
    }

    /// Shows one picture large. It comes progressively: what has arrived can be seen.
    func open(_ number: Int) {
        let url = source.largeURL(for: source.urls[number])
        gtk_stack_set_visible_child_name(stack, "large")
        gtk_widget_show(cast(back))
        large.setImage(
            with: url,
            placeholder: .icon("image-x-generic-symbolic", pixelSize: 64),
            options: [.progressive, .delayPlaceholder]
        )
        large.alternativeText = url.lastPathComponent
    }

    func close() {
        large.cancelCurrentImageLoad()
        gtk_stack_set_visible_child_name(stack, "wall")
        gtk_widget_hide(cast(back))
    }

    /// Whether everything that can be seen has come, or has failed.
    var isAtRest: Bool {
        guard gtk_stack_get_transition_running(stack) == 0 else { return false }
        let picture = large.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self)
        if gtk_widget_get_mapped(picture) != 0 { return large.imageLoad(for: .image)?.isFinished ?? true }
        return wall.isAtRest
    }

    private func addShortcut(
        _ key: Int32,
        _ modifiers: GdkModifierType = GdkModifierType(rawValue: 0),
        _ body: @escaping () -> Void
    ) {
        let keys = gtk_event_controller_key_new()!
        let box = Unmanaged.passRetained(KeyHandler(key: guint(key), modifiers: modifiers, body)).toOpaque()
        typealias Callback =
            @convention(c) (
                UnsafeMutableRawPointer, guint, guint, GdkModifierType, UnsafeMutableRawPointer
            ) -> gboolean
        let callback: Callback = { _, key, _, modifiers, box in
            let handler = Unmanaged<KeyHandler>.fromOpaque(box).takeUnretainedValue()
            return MainActor.assumeIsolated { handler.press(key, modifiers) } ? 1 : 0
        }
        g_signal_connect_data(
            UnsafeMutableRawPointer(keys),
            "key-pressed",
            unsafeBitCast(callback, to: GCallback.self),
            box,
            { box, _ in Unmanaged<KeyHandler>.fromOpaque(box!).release() },
            GConnectFlags(rawValue: 0)
        )
        gtk_widget_add_controller(window, keys)
    }
}

/// What a key does.
@MainActor
private final class KeyHandler {
    private let key: guint
    private let modifiers: GdkModifierType
    private let body: () -> Void

    init(key: guint, modifiers: GdkModifierType, _ body: @escaping () -> Void) {
        self.key = key
        self.modifiers = modifiers
        self.body = body
    }

    func press(_ key: guint, _ modifiers: GdkModifierType) -> Bool {
        guard key == self.key, modifiers.rawValue & self.modifiers.rawValue == self.modifiers.rawValue else {
            return false
        }
        body()
        return true
    }
}
