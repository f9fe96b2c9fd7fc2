import Dispatch
import Glibc
import Synchronization

/// A fixed number of threads that run work by priority, and within a priority in the order of arrival or by the age of loads.
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

    private let shared: QueueState

    /// Creates a queue, whose threads start with its first work.
    /// - Parameters:
    ///   - name: The name that debuggers show, at most 15 bytes.
    ///   - threadCount: The number of threads, 1 to 64. It is evaluated when the threads start.
    ///   - isBatch: Whether the work needs the processor for long, so that its threads should not preempt others when
    ///     they wake up (SCHED_BATCH, sched(7)). Their niceness stays that of the main thread: with a higher niceness,
    ///     a busy machine would delay them while they hold a lock that the main thread waits for.
    ///   - startThread: Starts a thread; returns 0 or an error number.
    package init(
        name: String,
        threadCount: @autoclosure @escaping @Sendable () -> Int,
        isBatch: Bool = false,
        startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int32 = startDetachedThread
    ) {
        shared = QueueState(name, isBatch, { min(max(1, threadCount()), 64) }, startThread)
    }

    deinit {
        shared.close()
    }

    /// Starts the threads, unless they are running.
    /// - Returns: 0, or the error number of pthread_create(3) if no thread runs. Work then waits until a later call starts one.
    package func start() -> Int32 { shared.hasThread.load(ordering: .relaxed) ? 0 : shared.startThreads() }

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
        var queue = PriorityQueue<@Sendable () -> Void>()
        var running = 0
        var isClosed = false
    }

    private let name: String
    private let isBatch: Bool
    private let maximumThreadCount: @Sendable () -> Int
    private let startThread: @Sendable (@escaping @Sendable () -> Void) -> Int32
    let state = Mutex(State())
    let hasThread = Atomic(false)
    private let starting = Mutex(())
    /// Signalled once for each work item. Cancelled work leaves a signal behind, which wakes a thread needlessly.
    private let signal = DispatchSemaphore(value: 0)

    init(
        _ name: String,
        _ isBatch: Bool,
        _ maximumThreadCount: @escaping @Sendable () -> Int,
        _ startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int32
    ) {
        (self.name, self.isBatch) = (name, isBatch)
        (self.maximumThreadCount, self.startThread) = (maximumThreadCount, startThread)
    }

    /// Starts as many threads as the system allows.
    /// - Returns: 0, or an error number if the system starts no thread.
    func startThreads() -> Int32 {
        // A second caller waits for the outcome of the first.
        starting.withLock { _ in hasThread.load(ordering: .relaxed) ? 0 : startFirstThreads() }
    }

    private func startFirstThreads() -> Int32 {
        let count = maximumThreadCount()
        for started in 0..<count {
            let code = startThread { [self] in
                nameThisThread(name)
                if isBatch { markThisThreadAsBatch() }
                run()
            }
            guard code != 0 else {
                hasThread.store(true, ordering: .relaxed)
                continue
            }
            let remedy = "Raise the limit of threads (ulimit -u)."
            WebImageLog.error("The queue \(name) has only \(started) threads (error \(code)). \(remedy)")
            return started > 0 ? 0 : code
        }
        return 0
    }

    func push(
        _ priority: ImagePriority,
        isResumed: Bool = false,
        age: UInt64 = 0,
        _ work: @escaping @Sendable () -> Void
    ) -> UInt64 {
        let number = state.withLock { $0.queue.push(work, priority, isResumed: isResumed, age: age) }
        if !hasThread.load(ordering: .relaxed) { _ = startThreads() }
        signal.signal()
        return number
    }

    func close() {
        state.withLock { $0.isClosed = true }
        signal.signal()
    }

    func run() {
        while true {
            signal.wait()
            let (work, isClosed) = state.withLock { state in
                let work = state.queue.pop()
                if work != nil { state.running += 1 }
                return (work, state.isClosed)
            }
            if let work {
                work()
                state.withLock { $0.running -= 1 }
            } else if isClosed {
                // Pass the signal on to the next thread.
                signal.signal()
                return
            }
        }
    }
}

/// Starts a named thread for one work item that needs the processor for long.
/// - Returns: 0, or the error number of pthread_create(3) if the work does not run.
package func startBatchThread(name: String, _ work: @escaping @Sendable () -> Void) -> Int32 {
    startDetachedThread {
        nameThisThread(name)
        markThisThreadAsBatch()
        work()
    }
}

/// Starts a POSIX thread. Threads of Dispatch have no names, and work that waits for the disk would exhaust them.
/// - Returns: 0, or the error number of pthread_create(3).
package func startDetachedThread(_ body: @escaping @Sendable () -> Void) -> Int32 {
    let context = Unmanaged.passRetained(ThreadBody(run: body)).toOpaque()
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, runThread, context)
    if code == 0 {
        pthread_detach(thread)
    } else {
        Unmanaged<ThreadBody>.fromOpaque(context).release()
    }
    return code
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    Unmanaged<ThreadBody>.fromOpaque(context!).takeRetainedValue().run()
    return nil
}

/// SCHED_BATCH of sched(7), which Swift does not import.
private let batchPolicy: Int32 = 3

private func markThisThreadAsBatch() {
    var parameters = sched_param()
    parameters.sched_priority = 0
    // On Linux, process 0 is the calling thread. If the call is refused, the thread stays an ordinary one.
    sched_setscheduler(0, batchPolicy, &parameters)
}

/// Names the thread through procfs, because pthread_setname_np is not visible from Swift.
func nameThisThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    _ = write(file, name, min(name.utf8.count, 15))
    close(file)
}
