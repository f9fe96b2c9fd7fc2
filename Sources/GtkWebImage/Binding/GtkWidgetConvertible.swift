public import FoundationEssentials
public import WebImageCore

/// A GTK widget of any binding: any type that knows the address of its GtkWidget.
///
/// Conform the classes of your binding to ``PictureBindable``, ``ButtonBindable``, ``EntryBindable`` or
/// ``WidgetBindable``, in one line each.
@preconcurrency @MainActor
public protocol GtkWidgetConvertible {
    /// The `GtkWidget *`. The library uses it within a call and keeps only weak references.
    var nativeWidgetPointer: UnsafeMutableRawPointer { get }
}

extension GtkWidgetConvertible {
    /// Cancels the load under a key, if there is one. Its completion receives `ImageError.Code.cancelled`.
    public func cancelImageLoad(for key: OperationKey) {
        existingSlots?.cancel(key)
    }

    /// The URL that was set last under a key, whether or not its load succeeded; `nil` if there is none.
    public func imageURL(for key: OperationKey) -> URL? {
        existingSlots?.existingSlot(for: key)?.current?.image.url
    }

    /// The last load under a key, which may have ended.
    public func imageTask(for key: OperationKey) -> ImageTask? {
        existingSlots?.task(for: key)
    }

    /// Detaches the load under a key from the widget without cancelling it. It continues for its completion and the
    /// caches, and no longer updates the widget. A load that still waits for its widget to be mapped is not continued:
    /// it ends with ``/WebImageCore/ImageError/Code/cancelled``.
    /// - Returns: The load, if there was one.
    @discardableResult
    public func removeImageTask(for key: OperationKey) -> ImageTask? {
        existingSlots?.removeTask(for: key)
    }

    /// Ties a load that you have started, or detached from another widget, to this widget: it is cancelled when another
    /// image is set under the key and when the widget is destroyed. The widget does not show its image.
    public func setImageTask(_ task: ImageTask, for key: OperationKey) {
        WidgetSlots.of(nativeWidgetPointer).setTask(task, for: key)
    }

    private var existingSlots: WidgetSlots? { .existing(of: nativeWidgetPointer) }
}
