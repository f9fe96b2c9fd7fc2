internal import CWebImageGtk4
import WebImageLinux

/// Connects to a signal and ignores its arguments.
/// - Returns: The number of the connection, by which it is undone.
@MainActor
@discardableResult
func connect(_ object: OpaquePointer, _ signal: String, _ body: @escaping () -> Void) -> UInt {
    UnsafeMutableRawPointer(object).connect(signal, body)
}

/// Connects to a signal whose first argument is an object.
@MainActor
func connect(_ object: OpaquePointer, _ signal: String, _ body: @escaping (OpaquePointer) -> Void) {
    UnsafeMutableRawPointer(object).connectWithArgument(signal) { body(OpaquePointer(bitPattern: $0)!) }
}

/// Connects to GtkGridView::activate and passes the position on.
@MainActor
func connectActivate(_ gridView: OpaquePointer, _ body: @escaping (Int) -> Void) {
    UnsafeMutableRawPointer(gridView).connectWithArgument("activate") { body(Int(UInt32(truncatingIfNeeded: $0))) }
}

/// Connects a C function that returns whether it has handled a signal. It receives a box for `answer` as its last argument.
@MainActor
func connect<Callback, Argument>(
    _ object: OpaquePointer,
    _ signal: String,
    callback: Callback,
    body: @escaping (Argument) -> Bool
) {
    g_signal_connect_data(
        UnsafeMutableRawPointer(object),
        signal,
        unsafeBitCast(callback, to: GCallback.self),
        Unmanaged.passRetained(Handler(body)).toOpaque(),
        { box, _ in Unmanaged<AnyObject>.fromOpaque(box!).release() },
        GConnectFlags(rawValue: 0)
    )
}

/// Calls the closure in a box.
nonisolated func answer<Argument: Sendable>(_ box: UnsafeMutableRawPointer, _ argument: Argument) -> gboolean {
    let handler = Unmanaged<Handler<Argument>>.fromOpaque(box).takeUnretainedValue()
    return MainActor.assumeIsolated { handler.body(argument) } ? 1 : 0
}

@MainActor
private final class Handler<Argument> {
    let body: (Argument) -> Bool

    init(_ body: @escaping (Argument) -> Bool) {
        self.body = body
    }
}

/// Adds a stateless action to an app or a window.
@MainActor
func addAction(_ name: String, to map: OpaquePointer, _ body: @escaping () -> Void) {
    let action = g_simple_action_new(name, nil)!
    connect(action, "activate", body)
    g_action_map_add_action(map, action)
    g_object_unref(UnsafeMutableRawPointer(action))
}

/// Casts a pointer to the C type that a function expects.
func cast<T>(_ pointer: OpaquePointer, to type: T.Type = T.self) -> UnsafeMutablePointer<T> {
    UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: type)
}
