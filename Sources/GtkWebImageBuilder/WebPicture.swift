internal import CWebImageBuilderShims
internal import CWebImageGtk4
import GtkWebImage
import WebImageLinux

/// A widget that shows an image from the web, for the files of GtkBuilder and for Blueprint. The page of this module has its
/// properties and signals.
@preconcurrency @MainActor
public enum WebPicture {
    /// Makes GtkBuilder know `WebPicture`. Call it on the main thread before the first file that names the widget; further calls do
    /// nothing. It traps if the process has another type named WebPicture, WebPictureState or WebPictureTransition.
    public static func register() {
        guard gwi_web_picture_register(functions) != 0 else {
            fatalError("The app has a type named WebPicture, WebPictureState or WebPictureTransition. Rename it.")
        }
    }

    /// Allocated once and never freed, like a class structure.
    private static let functions: UnsafePointer<GwiWebPictureFunctions> = {
        let table = UnsafeMutablePointer<GwiWebPictureFunctions>.allocate(capacity: 1)
        table.initialize(
            to: GwiWebPictureFunctions(
                create: { widget in
                    let address = UInt(bitPattern: widget)
                    let context = MainActor.assumeIsolated {
                        let widget = UnsafeMutableRawPointer(bitPattern: address)!
                        return UInt(bitPattern: Unmanaged.passRetained(WebPictureBehavior(widget)).toOpaque())
                    }
                    return UnsafeMutableRawPointer(bitPattern: context)
                },
                set: { context, property, value in
                    nonisolated(unsafe) let value = value!
                    return onMain(context) { $0.set(property, value) } ? 1 : 0
                },
                get: { context, property, value in
                    nonisolated(unsafe) let value = value!
                    onMain(context) { $0.get(property, value) }
                },
                dispose: { context in onMain(context) { $0.dispose() } },
                release: { context in Unmanaged<WebPictureBehavior>.fromOpaque(context!).release() }
            )
        )
        return UnsafePointer(table)
    }()

    nonisolated private static func onMain<R: Sendable>(
        _ context: UnsafeMutableRawPointer?,
        _ body: @MainActor (WebPictureBehavior) -> R
    ) -> R {
        let behavior = Unmanaged<WebPictureBehavior>.fromOpaque(context!).takeUnretainedValue()
        return MainActor.assumeIsolated { MainThreadMeter.measure { body(behavior) } }
    }
}
