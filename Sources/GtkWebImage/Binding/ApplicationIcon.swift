internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The icon of all windows of the app, those that come later included, which the window system shows in a dock or a
/// list of windows. Wayland takes icons from the desktop file instead.
///
///     ApplicationIcon().setImage(with: url)
///
/// A window that has an icon of its own (WidgetPointer) is given this one, too; whichever comes last is shown.
@MainActor
public struct ApplicationIcon: ImageBindable {
    /// Stands for the one that there is.
    public init() {}

    /// Where the image goes.
    public var imageBinding: ImageBinding {
        // The list of windows lives as long as the process.
        ImageBinding(UnsafeMutableRawPointer(gtk_window_get_toplevels()), "application-icon") { _ in
            ApplicationIconTarget()
        }
    }
}

/// The icons of all windows.
@MainActor
private final class ApplicationIconTarget: SlotTarget {
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
