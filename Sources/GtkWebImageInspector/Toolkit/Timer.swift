internal import CWebImageGtk4

/// A closure that runs on the main loop, once after a delay or at intervals, until it is cancelled.
@MainActor
final class Timer {
    private final class Context {
        var body: (@MainActor () -> Bool)?
    }

    private let context = Context()

    /// Whether the closure may still run.
    var isPending: Bool { context.body != nil }

    static func once(after milliseconds: UInt32, _ body: @escaping @MainActor () -> Void) -> Timer {
        Timer(every: milliseconds) {
            body()
            return false
        }
    }

    /// Runs a closure repeatedly while it returns `true`.
    init(every milliseconds: UInt32, _ body: @escaping @MainActor () -> Bool) {
        context.body = body
        let call: GSourceFunc = { context in
            let context = Unmanaged<Context>.fromOpaque(context!).takeUnretainedValue()
            return MainActor.assumeIsolated {
                if context.body?() == true { return 1 }
                context.body = nil
                return 0
            }
        }
        g_timeout_add_full(G_PRIORITY_DEFAULT, milliseconds, call, Unmanaged.passRetained(context).toOpaque()) {
            Unmanaged<Context>.fromOpaque($0!).release()
        }
    }

    /// Prevents further runs of the closure.
    func cancel() {
        context.body = nil
    }
}
