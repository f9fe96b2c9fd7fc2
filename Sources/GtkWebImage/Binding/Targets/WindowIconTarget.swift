internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The icon of a window, which the window system shows, for example in a dock or a list of windows.
///
/// A GtkWindow accepts icons only by name, while its GdkToplevel accepts textures. Not every window system shows them:
/// Wayland uses the icon of the desktop file.
@MainActor
final class WindowIconTarget: SlotTarget {
    let paintable = ImagePaintable()
    var content: PaintableContent? { paintable.content }
    private let window: WidgetReference
    private let icon = WindowIcon()

    init(window: WidgetReference) {
        self.window = window
        guard let pointer = window.pointer else { return }
        // The surface is created at realize, without the icon.
        UnsafeMutableRawPointer(pointer).connect("realize") { [weak self] in self?.changed() }
    }

    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { true }
    func decodeSize(scale: Double) -> DecodeSize? { .contain(PixelSize(width: 128, height: 128)) }

    func changed() {
        window.pointer.map { icon.show(paintable.content.image, in: [$0]) }
    }
}

/// The icons of all windows.
@MainActor
final class ApplicationIconTarget: SlotTarget {
    private let paintable = ImagePaintable()
    private let icon = WindowIcon()

    init() {
        Toplevels.follow { [weak self] window in
            let reference = WidgetReference(UnsafeMutableRawPointer(window))
            // A window has its surface from realize on.
            UnsafeMutableRawPointer(window).connect("realize") {
                guard let image = self?.paintable.content.image else { return }
                reference.pointer?.setWindowIcon(image)
            }
        }
    }

    var content: PaintableContent? { paintable.content }
    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { true }
    func decodeSize(scale: Double) -> DecodeSize? { .contain(PixelSize(width: 128, height: 128)) }

    func changed() {
        WindowIcon.ofApplication = paintable.content.image
        icon.show(paintable.content.image, in: Toplevels.all)
    }
}

/// The image that windows have as their icon. Until there is one, they keep the icon of their icon name.
@MainActor
private final class WindowIcon {
    /// The image of the app, which windows without their own image show.
    static var ofApplication: WebImage?
    private var isSet = false

    func show(_ own: WebImage?, in windows: [UnsafeMutablePointer<GtkWidget>]) {
        guard own != nil || isSet else { return }
        isSet = own != nil
        let image = own ?? Self.ofApplication
        for window in windows {
            window.setWindowIcon(image)
            if image == nil { window.restoreWindowIcon() }
        }
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Restores the icon of the window's icon name. GTK looks it up when the name changes.
    fileprivate func restoreWindowIcon() {
        let window = UnsafeMutableRawPointer(self).assumingMemoryBound(to: GtkWindow.self)
        let name = gtk_window_get_icon_name(window).map { String(cString: $0) }
        gtk_window_set_icon_name(window, "")
        gtk_window_set_icon_name(window, name)
    }

    /// Sets the icon of the window's surface, if the window has a surface.
    func setWindowIcon(_ image: WebImage?) {
        guard let surface = gtk_native_get_surface(OpaquePointer(self)) else { return }
        guard let image else { return gdk_toplevel_set_icon_list(surface, nil) }
        let list = g_list_append(nil, UnsafeMutableRawPointer(image.texture.pointer))
        gdk_toplevel_set_icon_list(surface, list)
        g_list_free(list)
    }
}
