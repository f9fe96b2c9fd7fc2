/// Runs work within the call, on whatever thread that is. For `await`, where a detour over the main loop helps nobody.
package struct InlineDispatcher: CallbackDispatching {
    package init() {}

    package var isCurrent: Bool { true }

    package func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
}
