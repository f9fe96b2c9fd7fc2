import Synchronization
public import WebImageCore

/// A dispatcher that delivers when a test says so.
public final class ManualDispatcher: CallbackDispatching {
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    /// Makes a dispatcher with nothing to deliver.
    public init() {}

    /// No: nothing is delivered within the call that causes it.
    public var isCurrent: Bool { false }

    /// How many deliveries wait.
    public var waitingCount: Int { waiting.withLock { $0.count } }

    /// Keeps work until run().
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        waiting.withLock { $0.append(work) }
    }

    /// Delivers what waits, in order, and what that causes, on the caller's thread.
    public func run() {
        while true {
            let batch = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            if batch.isEmpty { return }
            for work in batch { work() }
        }
    }
}
