internal import CWebImageGtk4

/// Holds the reference of a wrapper to its widget.
final class OwnedWidget: Sendable {
    private let reference: GObjectReference
    private let address: UInt

    /// Takes over a widget that was just made, with its floating reference.
    init(_ widget: UnsafeMutableRawPointer) {
        g_object_ref_sink(widget)
        reference = GObjectReference(widget)
        address = UInt(bitPattern: widget)
    }

    deinit {
        // The last reference to a widget has to go on the main thread, wherever the wrapper is dropped.
        reference.releaseOnMainThread()
    }

    var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: address)! }
}
