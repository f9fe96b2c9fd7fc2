import Synchronization

/// The observers of one kind of event. Adding, removing and notifying work from any thread.
///
/// Notifying costs one atomic read while there is no observer.
package final class Observers<Event: Sendable>: Sendable {
    private struct State {
        var handlers: [(number: UInt64, handler: @Sendable (Event) -> Void)] = []
        var serial = Serial()
    }

    private let hasObservers = Atomic(false)
    private let state = Mutex(State())

    package init() {}

    /// Whether there is any observer.
    package var isActive: Bool { hasObservers.load(ordering: .relaxed) }

    /// Calls a handler with each event, on the thread that reports it, for as long as the token exists.
    package func add(_ handler: @escaping @Sendable (Event) -> Void) -> ObservationToken {
        let number = state.withLock { state in
            let number = state.serial.next()
            state.handlers.append((number, handler))
            hasObservers.store(true, ordering: .relaxed)
            return number
        }
        return ObservationToken { [weak self] in self?.remove(number) }
    }

    /// The events that `begin` sends, and then all events until the observers are released. A consumer that falls more than `count`
    /// events behind misses the oldest.
    package func stream(
        bufferingNewest count: Int,
        beginning begin: (AsyncStream<Event>.Continuation) -> Void = { _ in }
    ) -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(count))
        let end = ObservationToken { continuation.finish() }
        let token = add { event in withExtendedLifetime(end) { _ = continuation.yield(event) } }
        continuation.onTermination = { _ in token.cancel() }
        begin(continuation)
        return stream
    }

    private func remove(_ number: UInt64) {
        state.release { state in
            let removed = state.handlers.firstIndex { $0.number == number }.map { state.handlers.remove(at: $0) }
            hasObservers.store(!state.handlers.isEmpty, ordering: .relaxed)
            return removed?.handler
        }
    }

    /// Calls all handlers within this call, in the order in which they were added. No lock is held, so a handler may
    /// add and remove observers.
    package func notify(_ event: @autoclosure () -> Event) {
        guard isActive else { return }
        let event = event()
        for (_, handler) in state.withLock({ $0.handlers }) { handler(event) }
    }
}

/// Keeps an observation alive, which ends when the token is released or cancelled, on any thread.
package final class ObservationToken: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    package init(_ end: @escaping @Sendable () -> Void) {
        self.end = Mutex(end)
    }

    deinit {
        cancel()
    }

    /// Ends the observation. A handler that is running on another thread may return after this call.
    package func cancel() {
        end.withLock { $0.take() }?()
    }
}
