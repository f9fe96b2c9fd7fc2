internal import CWebImageGtk4

/// Calls back once, on the main loop.
@MainActor
final class DelayedCall {
    private final class Context {
        var body: (() -> Void)?
    }

    private let context = Context()
    private var source: guint = 0

    init(after delay: Duration, _ body: @escaping () -> Void) {
        context.body = body
        let call: GSourceFunc = { context in
            let context = Unmanaged<Context>.fromOpaque(context!).takeUnretainedValue()
            MainActor.assumeIsolated { context.body.take()?() }
            return 0
        }
        let retained = Unmanaged.passRetained(context).toOpaque()
        let milliseconds = guint(max(delay, .zero) / .milliseconds(1))
        source = g_timeout_add_full(G_PRIORITY_DEFAULT, milliseconds, call, retained) {
            Unmanaged<Context>.fromOpaque($0!).release()
        }
    }

    /// Nothing is called any more. The source may have run; then there is nothing to remove.
    func cancel() {
        guard context.body.take() != nil else { return }
        g_source_remove(source)
    }
}
