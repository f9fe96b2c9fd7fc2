internal import CWebImageGtk4

/// A GdkPaintable of the app's, kept alive.
final class SharedPaintable: Sendable {
    private let reference: GObjectReference
    private let address: UInt

    @MainActor
    init(_ pointer: UnsafeMutableRawPointer) {
        g_object_ref(pointer)
        reference = GObjectReference(pointer)
        address = UInt(bitPattern: pointer)
    }

    deinit {
        reference.releaseOnMainThread()
    }

    @MainActor var pointer: OpaquePointer { OpaquePointer(bitPattern: address)! }
}

/// Listens to the changes of a paintable of the app's for as long as it is shown.
@MainActor
final class PaintableObservation {
    private let paintable: SharedPaintable
    private var handlers: [gulong] = []

    init(_ paintable: SharedPaintable, contents: @escaping () -> Void, size: @escaping () -> Void) {
        self.paintable = paintable
        let object = UnsafeMutableRawPointer(paintable.pointer)
        handlers = [
            object.connect("invalidate-contents") { contents() }, object.connect("invalidate-size") { size() },
        ]
    }

    func end() {
        for handler in handlers { g_signal_handler_disconnect(UnsafeMutableRawPointer(paintable.pointer), handler) }
        handlers = []
    }
}
