internal import CWebImageGtk4
internal import CWebImageGtkShims
import WebImageLinux

/// The C functions of the GdkPaintable of a ``PaintableContent``. GTK calls them on the main thread, except `release`.
enum PaintableCallbacks {
    /// Allocated once and never freed, like a class structure.
    @MainActor static let table: UnsafePointer<GwiPaintableFunctions> = {
        let table = UnsafeMutablePointer<GwiPaintableFunctions>.allocate(capacity: 1)
        table.initialize(
            to: GwiPaintableFunctions(
                snapshot: { context, snapshot, width, height in
                    let address = UInt(bitPattern: snapshot)
                    let content = Unmanaged<PaintableContent>.fromOpaque(context!).takeUnretainedValue()
                    MainActor.assumeIsolated {
                        MainThreadMeter.measure {
                            content.draw(OpaquePointer(bitPattern: address)!, width: width, height: height)
                        }
                    }
                },
                current_image: { context in
                    OpaquePointer(bitPattern: onMain(context) { UInt(bitPattern: $0.makeCurrentImage()) })
                },
                width: { context in onMain(context) { Int32(bounded: $0.size.width.rounded()) } },
                height: { context in onMain(context) { Int32(bounded: $0.size.height.rounded()) } },
                aspect_ratio: { context in
                    onMain(context) { $0.size.height > 0 ? $0.size.width / $0.size.height : 0 }
                },
                release: { context in Unmanaged<PaintableContent>.fromOpaque(context!).release() }
            )
        )
        return UnsafePointer(table)
    }()

    /// Calls a function that captures nothing. GTK asks for sizes at every layout, and `assumeIsolated` would allocate twice.
    private static func onMain<R: Sendable>(
        _ context: UnsafeMutableRawPointer?,
        _ body: @escaping @MainActor @Sendable (PaintableContent) -> R
    ) -> R {
        MainActor.preconditionIsolated()
        let content = Unmanaged<PaintableContent>.fromOpaque(context!).takeUnretainedValue()
        return unsafeBitCast(body, to: (@Sendable (PaintableContent) -> R).self)(content)
    }
}
