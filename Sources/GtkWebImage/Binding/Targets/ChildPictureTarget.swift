internal import CWebImageGtk4
import WebImageLinux

/// A GtkPicture as the `child` of another widget, such as a button. The app may replace it.
@MainActor
final class ChildPictureTarget: PictureTarget {
    private let owner: WidgetReference
    /// Keeps the GtkPicture while the app has replaced the child.
    private let owned: GObjectBox

    init(childOf owner: WidgetReference) {
        let picture = UnsafeMutableRawPointer(gtk_picture_new()!)
        (self.owner, owned) = (owner, GObjectBox(retaining: picture))
        super.init(WidgetReference(picture))
    }

    override var parent: UnsafeMutablePointer<GtkWidget>? { owner.pointer }

    /// Whether the app has not replaced the child.
    override var hasArea: Bool {
        guard let parent = owner.address, let picture = picture.address, let child = parent.objectProperty("child")
        else { return false }
        if child == picture { return true }
        // GtkScrolledWindow wraps a widget that cannot scroll in a viewport.
        return child.isInstance(of: gtk_viewport_get_type())
            && gtk_widget_get_parent(picture.assumingMemoryBound(to: GtkWidget.self)).map { $0 == child } ?? false
    }

    /// Makes the GtkPicture the child of its widget, unless it already is.
    override func prepare() {
        guard !hasArea, let parent = owner.address, let picture = picture.address else { return }
        parent.setObjectProperty("child", picture)
    }
}
