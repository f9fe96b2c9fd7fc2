/// A place where callbacks run, such as the main loop. Work runs in the order in which it was dispatched.
public protocol CallbackDispatching: Sendable {
    /// Whether the caller is already on the thread of the callbacks, so that it may call them directly.
    var isCurrent: Bool { get }

    /// Runs work after this call has returned. Any thread may call it.
    func dispatch(_ work: @escaping @Sendable () -> Void)
}

/// A dispatcher that runs work within the call, on the caller's thread. Awaiting a load needs no detour over the main loop.
package struct InlineDispatcher: CallbackDispatching {
    package init() {}

    package var isCurrent: Bool { true }

    package func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
}
