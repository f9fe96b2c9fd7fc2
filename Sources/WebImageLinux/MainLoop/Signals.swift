internal import CWebImageGLib

/// When a signal handler runs, relative to the default handler of the class.
package enum SignalPhase: Sendable {
    /// The handler runs before the default handler, as with g_signal_connect.
    case beforeDefault
    /// The handler runs after the default handler (G_CONNECT_AFTER).
    case afterDefault
}

extension UnsafeMutableRawPointer {
    /// Connects a closure to a signal of this GObject, whatever its arguments. The object owns the closure, so the closure must
    /// capture its owner weakly. The signal must be emitted on the main thread and return nothing.
    /// - Returns: The handler ID, for `disconnect(_:)`.
    @MainActor
    @discardableResult
    package func connect(
        _ signal: String,
        phase: SignalPhase = .beforeDefault,
        _ body: @escaping () -> Void
    ) -> UInt {
        connectWithArgument(signal, phase: phase) { _ in body() }
    }

    /// Connects a closure that receives the first argument of the signal as a bit pattern: the address of an object, or a number of
    /// at most 32 bits in the lower half.
    /// - Returns: The handler ID, for `disconnect(_:)`.
    @MainActor
    @discardableResult
    package func connectWithArgument(
        _ signal: String,
        phase: SignalPhase = .beforeDefault,
        _ body: @escaping (UInt) -> Void
    ) -> UInt {
        // A swapped connection passes the context first, so one function can handle signals of every arity: C functions ignore
        // undeclared arguments, and GTK itself relies on this with g_signal_connect_swapped.
        let callback: @convention(c) (gpointer, UInt) -> Void = { context, argument in
            SignalHandler.run(context, argument)
        }
        let context = Unmanaged.passRetained(SignalHandler(body)).toOpaque()
        let release: GClosureNotify = { context, _ in Unmanaged<SignalHandler>.fromOpaque(context!).release() }
        var flags = gwi_connect_swapped.rawValue
        if phase == .afterDefault { flags |= gwi_connect_after.rawValue }
        let handler = unsafeBitCast(callback, to: GCallback.self)
        return UInt(g_signal_connect_data(self, signal, handler, context, release, GConnectFlags(rawValue: flags)))
    }

    /// Disconnects a handler. The object must still be alive.
    @MainActor
    package func disconnect(_ handler: UInt) {
        g_signal_handler_disconnect(self, gulong(handler))
    }
}

/// The closure of one signal handler. GObject releases it with the handler.
@MainActor
private final class SignalHandler {
    private let body: (UInt) -> Void

    init(_ body: @escaping (UInt) -> Void) {
        self.body = body
    }

    nonisolated static func run(_ context: UnsafeMutableRawPointer, _ argument: UInt) {
        let handler = Unmanaged<SignalHandler>.fromOpaque(context).takeUnretainedValue()
        MainActor.assumeIsolated { handler.body(argument) }
    }
}

/// Handlers on one GObject, which this object retains until it disconnects them, at the latest in deinit.
@MainActor
package final class SignalConnections {
    package let object: GObjectBox
    private var handlers: [UInt] = []

    package init(_ object: GObjectBox) {
        self.object = object
    }

    package func connect(_ signal: String, _ body: @escaping () -> Void) {
        handlers.append(object.pointer.connect(signal, body))
    }

    package func disconnect() {
        Self.disconnect(handlers, on: object)
        handlers = []
    }

    deinit {
        guard !handlers.isEmpty else { return }
        let (object, handlers) = (object, handlers)
        guard MainLoopDispatcher.shared.isCurrent else {
            return MainLoopDispatcher.shared.dispatch {
                MainActor.assumeIsolated { Self.disconnect(handlers, on: object) }
            }
        }
        MainActor.assumeIsolated { Self.disconnect(handlers, on: object) }
    }

    private static func disconnect(_ handlers: [UInt], on object: GObjectBox) {
        for handler in handlers { object.pointer.disconnect(handler) }
    }
}
