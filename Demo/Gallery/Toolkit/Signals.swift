internal import CWebImageGtk4

/// The closure of a signal handler. GObject frees it together with the handler.
@MainActor
final class Handler<Argument> {
    let body: (Argument) -> Void

    init(_ body: @escaping (Argument) -> Void) {
        self.body = body
    }
}

/// Connects a C function that receives the handler as its last argument.
/// - Returns: The number of the connection, by which it is undone.
@MainActor
@discardableResult
func connect<Callback, Argument>(
    _ object: OpaquePointer,
    _ signal: String,
    callback: Callback,
    handler: Handler<Argument>
) -> gulong {
    g_signal_connect_data(
        UnsafeMutableRawPointer(object),
        signal,
        unsafeBitCast(callback, to: GCallback.self),
        Unmanaged.passRetained(handler).toOpaque(),
        { box, _ in Unmanaged<AnyObject>.fromOpaque(box!).release() },
        GConnectFlags(rawValue: 0)
    )
}

/// Runs the handler that a C function has received.
nonisolated func run<Argument: Sendable>(_ box: UnsafeMutableRawPointer, _ argument: Argument) {
    let handler = Unmanaged<Handler<Argument>>.fromOpaque(box).takeUnretainedValue()
    MainActor.assumeIsolated { handler.body(argument) }
}

/// Connects to a signal and ignores its arguments.
/// - Parameter arguments: The number of arguments of the signal, without the object itself; 0 or 1.
/// - Returns: The number of the connection, by which it is undone.
@MainActor
@discardableResult
func connect(_ object: OpaquePointer, _ signal: String, arguments: Int = 0, _ body: @escaping () -> Void) -> gulong {
    let handler = Handler<Void> { body() }
    if arguments == 0 {
        typealias Callback = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
        let callback: Callback = { _, box in run(box, ()) }
        return connect(object, signal, callback: callback, handler: handler)
    } else {
        typealias Callback =
            @convention(c) (UnsafeMutableRawPointer, OpaquePointer?, UnsafeMutableRawPointer) -> Void
        let callback: Callback = { _, _, box in run(box, ()) }
        return connect(object, signal, callback: callback, handler: handler)
    }
}

/// Connects to a signal whose only argument is an object.
@MainActor
func connect(_ object: OpaquePointer, _ signal: String, _ body: @escaping (OpaquePointer) -> Void) {
    typealias Callback = @convention(c) (UnsafeMutableRawPointer, OpaquePointer, UnsafeMutableRawPointer) -> Void
    let callback: Callback = { _, argument, box in run(box, UInt(bitPattern: argument)) }
    connect(object, signal, callback: callback, handler: Handler<UInt> { body(OpaquePointer(bitPattern: $0)!) })
}

/// Connects to GtkGridView::activate and passes the position on.
@MainActor
func connectActivate(_ gridView: OpaquePointer, _ body: @escaping (Int) -> Void) {
    typealias Callback = @convention(c) (UnsafeMutableRawPointer, guint, UnsafeMutableRawPointer) -> Void
    let callback: Callback = { _, position, box in run(box, Int(position)) }
    connect(gridView, "activate", callback: callback, handler: Handler(body))
}

/// Adds a stateless action to an app or a window.
@MainActor
func addAction(_ name: String, to map: OpaquePointer, _ body: @escaping () -> Void) {
    let action = g_simple_action_new(name, nil)!
    connect(action, "activate", arguments: 1, body)
    g_action_map_add_action(map, action)
    g_object_unref(UnsafeMutableRawPointer(action))
}

/// Casts a pointer to the C type that a function expects.
func cast<T>(_ pointer: OpaquePointer, to type: T.Type = T.self) -> UnsafeMutablePointer<T> {
    UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: type)
}
