internal import CWebImageGtk4

/// What a handler of a signal runs. GObject frees it with the handler.
@MainActor
private final class SignalBody {
    let body: (UInt) -> Void

    init(_ body: @escaping (UInt) -> Void) {
        self.body = body
    }

    nonisolated static func run(_ box: UnsafeMutableRawPointer, _ argument: UInt = 0) {
        let box = Unmanaged<SignalBody>.fromOpaque(box).takeUnretainedValue()
        MainActor.assumeIsolated { box.body(argument) }
    }
}

extension UnsafeMutableRawPointer {
    /// Connects to a signal without arguments. What body holds lives as long as the object: hold it weakly.
    /// - Returns: The handler, to disconnect it.
    @MainActor
    @discardableResult
    func connect(_ signal: String, after: Bool = false, _ body: @escaping () -> Void) -> gulong {
        let callback: @convention(c) (gpointer, gpointer) -> Void = { _, box in SignalBody.run(box) }
        return connect(signal, unsafeBitCast(callback, to: GCallback.self), after) { _ in body() }
    }

    /// Connects to a signal with one argument, an object or a number, which body gets as its bits.
    @MainActor
    @discardableResult
    func connectWithArgument(_ signal: String, _ body: @escaping (UInt) -> Void) -> gulong {
        let callback: @convention(c) (gpointer, UInt, gpointer) -> Void = { _, argument, box in
            SignalBody.run(box, argument)
        }
        return connect(signal, unsafeBitCast(callback, to: GCallback.self), false, body)
    }

    /// Connects to a signal without arguments, or to the change of a property.
    @MainActor
    func connectAny(_ signal: String, _ body: @escaping () -> Void) {
        if signal.hasPrefix("notify::") { connectWithArgument(signal) { _ in body() } } else { connect(signal, body) }
    }

    /// Connects to items-changed of a GListModel.
    @MainActor
    func connectItemsChanged(_ body: @escaping () -> Void) {
        let callback: @convention(c) (gpointer, guint, guint, guint, gpointer) -> Void = { _, _, _, _, box in
            SignalBody.run(box)
        }
        connect("items-changed", unsafeBitCast(callback, to: GCallback.self), false) { _ in body() }
    }

    /// Connects to pressed of a GtkGestureClick.
    @MainActor
    func connectPressed(_ body: @escaping () -> Void) {
        let callback: @convention(c) (gpointer, gint, Double, Double, gpointer) -> Void = { _, _, _, _, box in
            SignalBody.run(box)
        }
        connect("pressed", unsafeBitCast(callback, to: GCallback.self), false) { _ in body() }
    }

    /// Connects to the change of a property.
    @MainActor
    @discardableResult
    func connectNotify(_ property: String, _ body: @escaping () -> Void) -> gulong {
        connectWithArgument("notify::\(property)") { _ in body() }
    }

    @MainActor
    @discardableResult
    private func connect(
        _ signal: String,
        _ callback: GCallback,
        _ after: Bool,
        _ body: @escaping (UInt) -> Void
    ) -> gulong {
        let box = Unmanaged.passRetained(SignalBody(body)).toOpaque()
        let drop: GClosureNotify = { box, _ in Unmanaged<SignalBody>.fromOpaque(box!).release() }
        let flags = after ? G_CONNECT_AFTER : GConnectFlags(rawValue: 0)
        return g_signal_connect_data(self, signal, callback, box, drop, flags)
    }
}
