public import FoundationEssentials

/// A GTK widget of any binding: anything that can tell the address of its `GtkWidget`.
///
/// Conform the classes of your binding to ``PictureBindable`` or ``ButtonBindable``, in one line each.
@MainActor
public protocol NativeWidget {
    /// The `GtkWidget *`. It is used while a call lasts; the library keeps weak references only.
    var nativeWidgetPointer: UnsafeMutableRawPointer { get }
}

extension NativeWidget {
    /// Ends the load under `key`, if there is one; its completion gets ``ImageError/Code/cancelled``.
    public func cancelImageLoad(for key: OperationKey) {
        WidgetSlots.existing(of: nativeWidgetPointer)?.existingSlot(for: key)?.cancel()
    }

    /// The URL that was set last under `key`, whatever became of it; `nil` when none was.
    public func imageURL(for key: OperationKey) -> URL? {
        WidgetSlots.existing(of: nativeWidgetPointer)?.existingSlot(for: key)?.url
    }

    /// The load under way under `key`.
    public func imageLoad(for key: OperationKey) -> ImageLoad? {
        WidgetSlots.existing(of: nativeWidgetPointer)?.existingSlot(for: key)?.load
    }
}
