import Dispatch
import Synchronization

/// A limited number of threads that run work by priority, and within a priority in the order of arrival or by the age of loads.
/// Threads start when there is work for them, and end after half a minute without any.
///
/// Reading files and decoding use separate queues, so that neither occupies the threads of the other, nor the main
/// thread or the network thread.
package final class WorkQueue: Sendable {
    /// Identifies submitted work, to cancel it or to change its priority.
    package struct Ticket: Hashable, Sendable {
        let number: UInt64
        private let owner: ObjectIdentifier

        init(_ number: UInt64, of owner: AnyObject) {
            (self.number, self.owner) = (number, ObjectIdentifier(owner))
        }

        /// Whether the ticket was created by a certain queue or budget.
        func isOf(_ owner: AnyObject) -> Bool { self.owner == ObjectIdentifier(owner) }
    }

    /// A struct, because generic code would wrap a closure in another one each time that it passes it on.
    struct Work {
        let run: @Sendable () -> Void
    }

    private let shared: QueueState

    /// Creates a queue without threads.
    /// - Parameters:
    ///   - name: The name that debuggers show, at most 15 bytes.
    ///   - threadCount: The most threads, 1 to 64. It is evaluated when the first one starts.
    ///   - isBatch: Whether the work needs the processor for long, so that its threads should not preempt others when
    ///     they wake up (SCHED_BATCH, sched(7)). Their niceness stays that of the main thread: with a higher niceness,
    ///     a busy machine would delay them while they hold a lock that the main thread waits for.
    ///   - idleTime: How long a thread waits for work before it ends. Default: 30 s.
    ///   - startThread: Starts a thread; returns 0 or an error number.
    package init(
        name: String,
        threadCount: @autoclosure @escaping @Sendable () -> Int,
        isBatch: Bool = false,
        idleTime: Duration = .seconds(30),
        startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int32 = startDetachedThread
    ) {
        shared = QueueState(name, isBatch, idleTime, { min(max(1, threadCount()), 64) }, startThread)
    }

    deinit {
        shared.close()
    }

    /// Starts a thread, unless one is running.
    /// - Returns: 0, or the error number of pthread_create(3) if no thread runs. Work then waits until a later call starts one.
    package func start() -> Int32 { shared.startThreadIfNeeded() }

    /// Adds work, which runs on one of the threads unless it is cancelled first.
    /// - Parameters:
    ///   - isResumed: Whether the work precedes other work of its priority, because its load had a turn before or it
    ///     takes hardly any time.
    ///   - age: The age of the load. The work precedes that of younger loads. Default: the work follows all other work.
    @discardableResult
    package func submit(
        priority: ImagePriority = .normal,
        isResumed: Bool = false,
        age: UInt64 = 0,
        _ work: @escaping @Sendable () -> Void
    ) -> Ticket {
        Ticket(shared.push(priority, isResumed: isResumed, age: age, work), of: self)
    }

    /// Removes work from the queue, unless it has begun or belongs to another queue.
    /// - Returns: Whether the work will never run.
    @discardableResult
    package func cancel(_ ticket: Ticket) -> Bool {
        guard ticket.isOf(self) else { return false }
        return shared.state.release { $0.queue.remove(ticket.number) }
    }

    /// Moves work to its place in another priority, unless it has begun or belongs to another queue.
    package func setPriority(_ priority: ImagePriority, of ticket: Ticket) {
        guard ticket.isOf(self) else { return }
        shared.state.withLock { _ = $0.queue.move(ticket.number, to: priority) }
    }

    /// The number of work items that wait or run.
    package var pendingCount: Int { shared.state.withLock { $0.queue.count + $0.running } }

    /// The numbers of work items that wait, and that run.
    var load: (waiting: Int, running: Int) { shared.state.withLock { ($0.queue.count, $0.running) } }
}

/// The state that a queue and its threads share. The threads end when the queue is released and empty.
private final class QueueState: Sendable {
    struct State {
        var queue = PriorityQueue<WorkQueue.Work>()
        var running = 0
        var isClosed = false
        var threadCount = 0
        /// The threads that wait for work, or have been woken up for it.
        var idleCount = 0
        /// The most threads; `nil` before the first.
        var limit: Int?
        /// When to try again after the system has started no thread.
        var nextAttempt: SuspendingClock.Instant?

        /// Whether there is no thread, or work waits that no waiting thread will take.
        var needsThread: Bool {
            guard threadCount > 0 else { return true }
            return queue.count > idleCount && threadCount < limit ?? .max && nextAttempt.map { $0 <= .now } ?? true
        }
    }

    private let name: String
    private let isBatch: Bool
    private let idleTime: Duration
    private let maximumThreadCount: @Sendable () -> Int
    private let startThread: @Sendable (@escaping @Sendable () -> Void) -> Int32
    let state = Mutex(State())
    private let starting = Mutex(())
    /// Signalled once for each work item. Cancelled work leaves a signal behind, which wakes a thread needlessly.
    private let signal = DispatchSemaphore(value: 0)

    init(
        _ name: String,
        _ isBatch: Bool,
        _ idleTime: Duration,
        _ maximumThreadCount: @escaping @Sendable () -> Int,
        _ startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int32
    ) {
        (self.name, self.isBatch, self.idleTime) = (name, isBatch, idleTime)
        (self.maximumThreadCount, self.startThread) = (maximumThreadCount, startThread)
    }

    /// Starts a thread if one is needed.
    /// - Returns: 0, or an error number if the system starts no thread and none is running.
    func startThreadIfNeeded() -> Int32 {
        guard state.withLock({ $0.needsThread }) else { return 0 }
        // A second caller waits for the outcome of the first.
        let (code, count, isFirstFailure) = starting.withLock { _ in
            if state.withLock({ $0.limit }) == nil {
                let limit = maximumThreadCount()
                state.withLock { $0.limit = limit }
            }
            return state.withLock { $0.needsThread } ? startOneThread() : (0, 1, false)
        }
        if isFirstFailure {
            let remedy = "Raise the limit of threads (ulimit -u)."
            WebImageLog.error("The queue \(name) has only \(count) threads (error \(code)). \(remedy)")
        }
        return count > 0 ? 0 : code
    }

    private func startOneThread() -> (code: Int32, count: Int, isFirstFailure: Bool) {
        let code = startThread { [self] in
            nameThisThread(name)
            if isBatch { markThisThreadAsBatch() }
            run()
        }
        return state.withLock { state in
            if code == 0 { state.threadCount += 1 }
            defer { state.nextAttempt = code == 0 ? nil : .now + .seconds(1) }
            return (code, state.threadCount, code != 0 && state.nextAttempt == nil)
        }
    }

    func push(
        _ priority: ImagePriority,
        isResumed: Bool = false,
        age: UInt64 = 0,
        _ work: @escaping @Sendable () -> Void
    ) -> UInt64 {
        let number = state.withLock { $0.queue.push(.init(run: work), priority, isResumed: isResumed, age: age) }
        _ = startThreadIfNeeded()
        signal.signal()
        return number
    }

    func close() {
        state.withLock { $0.isClosed = true }
        signal.signal()
    }

    private func run() {
        state.withLock { $0.idleCount += 1 }
        while true {
            let isSignalled = signal.wait(timeout: .now() + idleTime / .seconds(1)) == .success
            let (work, isClosed, ends) = state.withLock { state in
                let work = state.queue.pop()
                let ends = work == nil && (state.isClosed || !isSignalled)
                if work != nil { state.running += 1 }
                if work != nil || ends { state.idleCount -= 1 }
                if ends { state.threadCount -= 1 }
                return (work, state.isClosed, ends)
            }
            if let work {
                work.run()
                state.withLock { state in
                    state.running -= 1
                    state.idleCount += 1
                }
            } else if ends {
                // The other threads end with the queue.
                if isClosed { signal.signal() }
                return
            }
        }
    }
}
