internal import CWebImageGtk4
import WebImageCore

/// A paintable of the app's that no widget is known of: it may be drawn by many, or by none.
@MainActor
final class FreeTarget: SlotTarget {
    /// Held weakly, for the paintable holds the slot.
    private(set) weak var content: PaintableContent?

    init(_ content: PaintableContent) {
        self.content = content
    }

    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { true }
    func decodeSize() -> DecodeSize? { .original }
}
