internal import CWebImageGtk4
public import GtkWebImage
import WebImageLinux

/// A GtkEntry, whose icons can be images.
@preconcurrency @MainActor
public final class Entry: EntryBindable {
    private let widget = makeWidget(gtk_entry_new)

    /// Creates an entry without text or icons. Main thread, after `gtk_init`.
    public init() {}

    /// The `GtkEntry *`, valid while the wrapper lives.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { widget.pointer }
}
