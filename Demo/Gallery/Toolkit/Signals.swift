internal import CWebImageGtk4

/// What a signal handler runs; freed by GObject with the handler.
@MainActor
private final class Handler {
    let body: () -> Void

    init(_ body: @escaping () -> Void) {
        self.body = body
    }
}

/// Connects to a signal without arguments of interest.
/// - Parameter arguments: How many arguments the signal has, the object itself not counted.
@MainActor
func connect(_ object: OpaquePointer, _ signal: String, arguments: Int = 0, _ body: @escaping () -> Void) {
    typealias None = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
    typealias One = @convention(c) (UnsafeMutableRawPointer, OpaquePointer?, UnsafeMutableRawPointer) -> Void
    let none: None = { _, box in run(box) }
    let one: One = { _, _, box in run(box) }
    let callback = arguments == 0 ? unsafeBitCast(none, to: GCallback.self) : unsafeBitCast(one, to: GCallback.self)
    let box = Unmanaged.passRetained(Handler(body)).toOpaque()
    g_signal_connect_data(
        UnsafeMutableRawPointer(object),
        signal,
        callback,
        box,
        { box, _ in Unmanaged<Handler>.fromOpaque(box!).release() },
        GConnectFlags(rawValue: 0)
    )
}

private nonisolated func run(_ box: UnsafeMutableRawPointer) {
    let handler = Unmanaged<Handler>.fromOpaque(box).takeUnretainedValue()
    MainActor.assumeIsolated { handler.body() }
}

/// What a signal handler with an object or a number as its argument runs.
@MainActor
private final class ObjectHandler {
    let body: (OpaquePointer) -> Void

    init(_ body: @escaping (OpaquePointer) -> Void) {
        self.body = body
    }
}

/// Connects to a signal whose only argument is an object.
@MainActor
func connect(_ object: OpaquePointer, _ signal: String, _ body: @escaping (OpaquePointer) -> Void) {
    typealias Callback = @convention(c) (UnsafeMutableRawPointer, OpaquePointer, UnsafeMutableRawPointer) -> Void
    let callback: Callback = { _, argument, box in
        let handler = Unmanaged<ObjectHandler>.fromOpaque(box).takeUnretainedValue()
        let address = UInt(bitPattern: argument)
        MainActor.assumeIsolated { handler.body(OpaquePointer(bitPattern: address)!) }
    }
    let box = Unmanaged.passRetained(ObjectHandler(body)).toOpaque()
    g_signal_connect_data(
        UnsafeMutableRawPointer(object),
        signal,
        unsafeBitCast(callback, to: GCallback.self),
        box,
        { box, _ in Unmanaged<ObjectHandler>.fromOpaque(box!).release() },
        GConnectFlags(rawValue: 0)
    )
}

/// Connects to `activate` of a GtkGridView, whose argument is a position.
@MainActor
func connectActivate(_ gridView: OpaquePointer, _ body: @escaping (Int) -> Void) {
    typealias Callback = @convention(c) (UnsafeMutableRawPointer, guint, UnsafeMutableRawPointer) -> Void
    let callback: Callback = { _, position, box in
        let handler = Unmanaged<PositionHandler>.fromOpaque(box).takeUnretainedValue()
        MainActor.assumeIsolated { handler.body(Int(position)) }
    }
    let box = Unmanaged.passRetained(PositionHandler(body)).toOpaque()
    g_signal_connect_data(
        UnsafeMutableRawPointer(gridView),
        "activate",
        unsafeBitCast(callback, to: GCallback.self),
        box,
        { box, _ in Unmanaged<PositionHandler>.fromOpaque(box!).release() },
        GConnectFlags(rawValue: 0)
    )
}

/// What a signal handler with a position as its argument runs.
@MainActor
private final class PositionHandler {
    let body: (Int) -> Void

    init(_ body: @escaping (Int) -> Void) {
        self.body = body
    }
}

/// A C structure by the name under which functions take it.
func cast<T>(_ pointer: OpaquePointer, to type: T.Type = T.self) -> UnsafeMutablePointer<T> {
    UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: type)
}

/// What a signal handler with a width as its argument runs.
@MainActor
private final class WidthHandler {
    let body: (Int) -> Void

    init(_ body: @escaping (Int) -> Void) {
        self.body = body
    }
}

/// Connects to `layout` of a GdkSurface: its new width, in application pixels.
@MainActor
func connectLayout(_ surface: OpaquePointer, _ body: @escaping (Int) -> Void) {
    typealias Callback = @convention(c) (UnsafeMutableRawPointer, gint, gint, UnsafeMutableRawPointer) -> Void
    let callback: Callback = { _, width, _, box in
        let handler = Unmanaged<WidthHandler>.fromOpaque(box).takeUnretainedValue()
        MainActor.assumeIsolated { handler.body(Int(width)) }
    }
    g_signal_connect_data(
        UnsafeMutableRawPointer(surface),
        "layout",
        unsafeBitCast(callback, to: GCallback.self),
        Unmanaged.passRetained(WidthHandler(body)).toOpaque(),
        { box, _ in Unmanaged<WidthHandler>.fromOpaque(box!).release() },
        GConnectFlags(rawValue: 0)
    )
}

/// Adds an action without state to an app or a window.
@MainActor
func addAction(_ name: String, to map: OpaquePointer, _ body: @escaping () -> Void) {
    let action = g_simple_action_new(name, nil)!
    connect(action, "activate", arguments: 1, body)
    g_action_map_add_action(map, action)
    g_object_unref(UnsafeMutableRawPointer(action))
}
