internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The icon of a window, which the window system shows: in a dock, in a list of windows.
///
/// A GtkWindow takes icons by name only; its GdkToplevel takes textures. Not every window system shows them: Wayland
/// takes icons from the desktop file.
@MainActor
final class WindowIconTarget: SlotTarget {
    let paintable = ImagePaintable()
    var content: PaintableContent? { paintable.content }
    private let window: WidgetReference

    init(window: WidgetReference) {
        self.window = window
        guard let pointer = window.pointer else { return }
        // The surface is created at realize, without the icon.
        UnsafeMutableRawPointer(pointer).connect("realize") { [weak self] in self?.changed() }
    }

    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { true }
    func decodeSize() -> DecodeSize? { .contain(PixelSize(width: 128, height: 128)) }

    func changed() {
        window.pointer?.setWindowIcon(paintable.image)
    }
}

/// The icons of all windows.
@MainActor
final class ApplicationIconTarget: SlotTarget {
    private let paintable = ImagePaintable()

    init() {
        Toplevels.follow { [weak self] window in
            let reference = WidgetReference(UnsafeMutableRawPointer(window))
            // A window has its surface from realize on.
            UnsafeMutableRawPointer(window).connect("realize") {
                guard let image = self?.paintable.image else { return }
                reference.pointer?.setWindowIcon(image)
            }
        }
    }

    var content: PaintableContent? { paintable.content }
    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { true }
    func decodeSize() -> DecodeSize? { .contain(PixelSize(width: 128, height: 128)) }

    func changed() {
        for window in Toplevels.all { window.setWindowIcon(paintable.image) }
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Sets the icon of the window's surface, if the window has a surface.
    func setWindowIcon(_ image: WebImage?) {
        guard let surface = gtk_native_get_surface(OpaquePointer(self)) else { return }
        guard let image else { return gdk_toplevel_set_icon_list(surface, nil) }
        let texture = image.texture
        texture.markDrawn()
        let list = g_list_append(nil, UnsafeMutableRawPointer(texture.pointer))
        gdk_toplevel_set_icon_list(surface, list)
        g_list_free(list)
    }
}
