import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// A bounded number of threads that run work by priority, first come first served within a priority.
///
/// Reading files and decoding have a queue each, so that neither fills the other's threads, and none ever runs on the
/// main thread or on the network thread.
package final class WorkQueue: Sendable {
    /// Work that was submitted, as a handle to cancel it or to change its priority.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private let shared: QueueState

    /// Starts the threads.
    /// - Parameters:
    ///   - name: Shown by debuggers, at most 15 bytes.
    ///   - threadCount: How many pieces of work run at a time, 1 to 64.
    ///   - niceness: 0 to 19, as in setpriority(2): how far the threads stand back behind the main thread.
    package init(name: String, threadCount: Int, niceness: Int = 0) {
        shared = QueueState(name: name, niceness: niceness)
        for _ in 0..<min(max(1, threadCount), 64) { startThread(shared) }
    }

    deinit {
        shared.close()
    }

    /// Queues work. It runs on one of the queue's threads, unless it is cancelled first.
    @discardableResult
    package func submit(priority: ImagePriority = .normal, _ work: @escaping @Sendable () -> Void) -> Ticket {
        Ticket(number: shared.push(priority, work))
    }

    /// Takes work out of the queue; nothing happens when it has begun.
    /// - Returns: Whether it will never run.
    @discardableResult
    package func cancel(_ ticket: Ticket) -> Bool {
        shared.state.withLock { $0.queue.remove(ticket.number) != nil }
    }

    /// Moves work that has not begun to the end of another priority.
    package func setPriority(_ priority: ImagePriority, of ticket: Ticket) {
        shared.state.withLock { $0.queue.move(ticket.number, to: priority) }
    }

    /// How many pieces of work wait or run.
    package var pendingCount: Int { shared.state.withLock { $0.queue.count + $0.running } }
}

/// What the queue and its threads share; the threads end when the queue is gone and the queue is empty.
private final class QueueState: Sendable {
    struct State {
        var queue = PriorityQueue<@Sendable () -> Void>()
        var running = 0
        var isClosed = false
    }

    let name: String
    let niceness: Int
    let state = Mutex(State())
    /// One signal for each piece of work; cancelled work leaves a surplus signal behind, which wakes a thread in vain.
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
                // The next thread wants to hear it too.
                signal.signal()
                return
            }
        }
    }
}

/// A POSIX thread: Dispatch's own cannot be given a niceness and would be blocked by work that waits for the disk.
private func startThread(_ state: QueueState) {
    let context = Unmanaged.passRetained(state).toOpaque()
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, runThread, context)
    if code == 0 {
        pthread_detach(thread)
    } else {
        Unmanaged<QueueState>.fromOpaque(context).release()
        WebImageLog.error("No thread for queue \(state.name): error \(code). Raise the limit of threads (ulimit -u).")
    }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    let state = Unmanaged<QueueState>.fromOpaque(context!).takeRetainedValue()
    nameThisThread(state.name)
    // On Linux, process 0 means the calling thread (setpriority(2), BUGS).
    if state.niceness > 0 { setpriority(Int32(PRIO_PROCESS.rawValue), 0, Int32(state.niceness)) }
    state.run()
    return nil
}

/// Glibc's own call for this is not visible from Swift.
private func nameThisThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    _ = write(file, name, min(name.utf8.count, 15))
    close(file)
}
