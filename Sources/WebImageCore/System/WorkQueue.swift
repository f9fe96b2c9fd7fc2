import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// A fixed number of threads that run work by priority, and first in, first out within a priority.
///
/// Reading files and decoding have a queue each, so that neither occupies the other's threads, nor the main or the
/// network thread.
package final class WorkQueue: Sendable {
    /// Identifies submitted work, to cancel it or to change its priority.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
        fileprivate let queue: ObjectIdentifier
    }

    private let shared: QueueState

    /// Starts the threads.
    /// - Parameters:
    ///   - name: The name that debuggers show, at most 15 bytes.
    ///   - threadCount: The number of threads, 1 to 64.
    ///   - niceness: 0 to 19, as in setpriority(2). A higher value leaves more time to the main thread.
    package init(name: String, threadCount: Int, niceness: Int = 0) {
        shared = QueueState(name: name, niceness: niceness)
        for _ in 0..<min(max(1, threadCount), 64) { startThread(shared) }
    }

    deinit {
        shared.close()
    }

    /// Adds work, which runs on one of the threads unless it is cancelled first.
    @discardableResult
    package func submit(priority: ImagePriority = .normal, _ work: @escaping @Sendable () -> Void) -> Ticket {
        Ticket(number: shared.push(priority, work), queue: ObjectIdentifier(self))
    }

    /// Removes work from the queue, unless it has begun or is that of another queue.
    /// - Returns: Whether the work will never run.
    @discardableResult
    package func cancel(_ ticket: Ticket) -> Bool {
        guard ticket.queue == ObjectIdentifier(self) else { return false }
        // The work is released with the lock free.
        let work = shared.state.withLock { $0.queue.remove(ticket.number) }
        return work != nil
    }

    /// Moves work to the end of another priority, unless it has begun or is that of another queue.
    package func setPriority(_ priority: ImagePriority, of ticket: Ticket) {
        guard ticket.queue == ObjectIdentifier(self) else { return }
        shared.state.withLock { $0.queue.move(ticket.number, to: priority) }
    }

    /// The number of pieces of work that wait or run.
    package var pendingCount: Int { shared.state.withLock { $0.queue.count + $0.running } }
}

/// The state that a queue and its threads share. The threads end when the queue is released and empty.
private final class QueueState: Sendable {
    struct State {
        var queue = PriorityQueue<@Sendable () -> Void>()
        var running = 0
        var isClosed = false
    }

    let name: String
    let niceness: Int
    let state = Mutex(State())
    /// Signalled once for each piece of work. Cancelled work leaves a signal behind, which wakes a thread needlessly.
    private let signal = DispatchSemaphore(value: 0)

    init(name: String, niceness: Int) {
        self.name = name
        self.niceness = niceness
    }

    func push(_ priority: ImagePriority, _ work: @escaping @Sendable () -> Void) -> UInt64 {
        let number = state.withLock { $0.queue.push(work, priority) }
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

/// Starts a POSIX thread. Those of Dispatch have no niceness, and work that waits for the disk would exhaust them.
private func startThread(_ state: QueueState) {
    let context = Unmanaged.passRetained(state).toOpaque()
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, runThread, context)
    if code == 0 {
        pthread_detach(thread)
    } else {
        Unmanaged<QueueState>.fromOpaque(context).release()
        let remedy = "Raise the limit of threads (ulimit -u)."
        WebImageLog.error("The queue \(state.name) could not start a thread (error \(code)). \(remedy)")
    }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let state = Unmanaged<QueueState>.fromOpaque(context!).takeRetainedValue()
    nameThisThread(state.name)
    // On Linux, process 0 means the calling thread (setpriority(2), section BUGS).
    if state.niceness > 0 { setpriority(Int32(PRIO_PROCESS.rawValue), 0, Int32(state.niceness)) }
    state.run()
    return nil
}

/// Names the thread by way of procfs: pthread_setname_np is not visible from Swift.
private func nameThisThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    _ = write(file, name, min(name.utf8.count, 15))
    close(file)
}
