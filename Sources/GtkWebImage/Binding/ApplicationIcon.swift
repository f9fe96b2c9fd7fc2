internal import CWebImageGtk4
import WebImageCore

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
    private var followed: [WidgetReference] = []

    init() {
        let windows = UnsafeMutableRawPointer(gtk_window_get_toplevels()!)
        windows.connectItemsChanged { [weak self] in self?.followNew() }
        followNew()
    }

    var content: PaintableContent? { paintable.content }
    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { true }
    func decodeSize() -> DecodeSize? { .fit(PixelSize(width: 128, height: 128)) }

    func changed() {
        for window in followed { window.pointer?.setWindowIcon(paintable.image) }
    }

    /// The surface of a window comes with realize.
    private func followNew() {
        followed.removeAll { $0.pointer == nil }
        let windows = gtk_window_get_toplevels()
        for index in 0..<g_list_model_get_n_items(windows) {
            guard let window = g_list_model_get_item(windows, index) else { continue }
            defer { g_object_unref(window) }
            let pointer = window.assumingMemoryBound(to: GtkWidget.self)
            guard !followed.contains(where: { $0.pointer == pointer }) else { continue }
            let reference = WidgetReference(window)
            followed.append(reference)
            window.connect("realize") { [weak self] in
                guard let self, let image = self.paintable.image else { return }
                reference.pointer?.setWindowIcon(image)
            }
        }
    }
}
