import Synchronization
public import WebImageCore

/// A dispatcher that delivers only when a test calls `run()`.
public final class ManualDispatcher: CallbackDispatching {
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    /// Creates a dispatcher without pending work.
    public init() {}

    /// Always false: nothing is delivered synchronously.
    public var isCurrent: Bool { false }

    /// The number of pending deliveries.
    public var waitingCount: Int { waiting.withLock { $0.count } }

    /// Queues work until `run()`.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        waiting.withLock { $0.append(work) }
    }

    /// Runs the pending work in order on the calling thread, including work that is added meanwhile.
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
