internal import CWebImageGtk4
import WebImageCore

/// Of a slot that only holds a load of the app's: nothing is shown.
@MainActor
final class NoTarget: SlotTarget {
    var content: PaintableContent? { nil }
    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { false }
    func decodeSize() -> DecodeSize? { nil }
}
