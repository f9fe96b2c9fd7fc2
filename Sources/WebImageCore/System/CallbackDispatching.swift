/// Where completions, partial images and progress are delivered. Work runs in the order in which it was dispatched.
public protocol CallbackDispatching: Sendable {
    /// Whether the caller is where the work would run, so that it may as well run at once.
    var isCurrent: Bool { get }

    /// Runs work later, never before this call has returned. From any thread.
    func dispatch(_ work: @escaping @Sendable () -> Void)
}

/// Runs work within the call, on whatever thread that is. For await, where a detour over the main loop helps nobody.
package struct InlineDispatcher: CallbackDispatching {
    package init() {}

    package var isCurrent: Bool { true }

    package func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
}
