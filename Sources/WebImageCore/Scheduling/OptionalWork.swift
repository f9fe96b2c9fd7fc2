import Dispatch
import Glibc
import Synchronization

/// Starts work that the library can do without, on a new thread. If the system starts no thread, the work does not run.
/// libdispatch would wait for a thread on the calling thread, which may be the main thread.
package func startOptionalWork(_ work: @escaping @Sendable () -> Void) { OptionalWork.start(work) }

/// Counts running optional work, so that the exit of the process can wait for it. After exit(3) has called the destructors
/// of libraries, a thread that opens a GIO module would run the constructors of GObject again, which abort the process.
private enum OptionalWork {
    private struct State {
        var running = 0
        var isExiting = false
    }

    private static let state = Mutex(State())
    private static let hasEnded = DispatchSemaphore(value: 0)

    /// How long the exit waits. Work that asks the desktop may hang.
    private static let longestExit = DispatchTimeInterval.milliseconds(500)

    /// Registers the handler when the first work starts.
    private static let registration: pid_t = {
        atexit { OptionalWork.waitAtExit() }
        return getpid()
    }()

    static func start(_ work: @escaping @Sendable () -> Void) {
        _ = registration
        let mayStart = state.withLock { state in
            if !state.isExiting { state.running += 1 }
            return !state.isExiting
        }
        guard mayStart else { return }
        // The thread is not a batch thread, because threads that GLib starts from it would inherit that policy.
        let code = startDetachedThread {
            nameThisThread("gwi-setup")
            work()
            end()
        }
        guard code != 0 else { return }
        end()
        WebImageLog.debug("The system starts no thread (error \(code)).")
    }

    private static func end() {
        let isAwaited = state.withLock { state in
            state.running -= 1
            return state.isExiting && state.running == 0
        }
        if isAwaited { hasEnded.signal() }
    }

    private static func waitAtExit() {
        // A forked process has no such threads.
        guard registration == getpid() else { return }
        let isRunning = state.withLock { state in
            state.isExiting = true
            return state.running > 0
        }
        if isRunning { _ = hasEnded.wait(timeout: .now() + longestExit) }
    }
}
