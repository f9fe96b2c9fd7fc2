import Glibc

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

func markThisThreadAsBatch() {
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
