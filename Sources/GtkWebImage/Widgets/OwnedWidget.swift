internal import CWebImageGtk4
import WebImageLinux

/// The reference of a wrapper to its widget.
final class OwnedWidget: Sendable {
    private let object: GObjectBox

    /// Takes over a new widget, including its floating reference.
    init(_ widget: UnsafeMutableRawPointer) {
        object = GObjectBox(retaining: widget)
    }

    var pointer: UnsafeMutableRawPointer { object.pointer }
}
