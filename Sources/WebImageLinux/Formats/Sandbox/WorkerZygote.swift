internal import CWebImageShims
import Glibc
import Synchronization
import WebImageCore

/// The process of which the decode workers of one kind are forked: the app's own program started again, which has loaded what decoders
/// need. A worker is there at once, while a start of the program takes tens of milliseconds.
final class WorkerZygote: Sendable {
    /// A worker process, with its socket and the memory that it shares with the app.
    struct Worker {
        let process: pid_t
        let socket: Int32
        let memory: UnsafeMutableRawPointer
    }

    private struct State {
        var process: pid_t = -1
        var socket: Int32 = -1
        /// The programs that have not failed.
        var paths: ArraySlice<String>
        /// The workers that it has made and that have not ended.
        var workerCount = 0
    }

    private let kind: WorkerKind
    /// Held while the zygote answers, which takes as long as its start or the end of a worker.
    private let state: Mutex<State>

    /// - Parameter paths: The programs to try, the best first.
    init(paths: [String], _ kind: WorkerKind) {
        self.kind = kind
        state = Mutex(State(paths: paths[...]))
    }

    deinit { state.withLock { Self.end(&$0) } }

    /// The process, while there is one.
    var process: pid_t? { state.withLock { $0.process > 0 ? $0.process : nil } }

    /// Makes a worker, once the program has started. A zygote that has ended is replaced.
    /// - Returns: `nil` when the system starts none.
    func makeWorker() -> Worker? {
        var start: UnsafeMutableRawPointer?
        let file = gwi_worker_memory(SharedMemory.byteCount, &start)
        guard file >= 0, let start else { return nil }
        defer { close(file) }
        let made = state.withLock { state -> (process: pid_t, socket: Int32)? in
            for _ in 0..<2 {
                if state.process < 0, let path = state.paths.first {
                    state.process = gwi_zygote_start(path, kind.rawValue, &state.socket)
                }
                guard state.process > 0 else { return nil }
                var socket: Int32 = -1
                let process = gwi_zygote_make_worker(state.socket, file, &socket)
                if process > 0 {
                    state.workerCount += 1
                    return (process, socket)
                }
                Self.end(&state)
            }
            return nil
        }
        guard let made else {
            munmap(start, SharedMemory.byteCount)
            return nil
        }
        return Worker(process: made.process, socket: made.socket, memory: start)
    }

    /// Ends a worker.
    /// - Parameter waits: Whether it is about to end by itself, so that it is not killed at once.
    /// - Returns: The signal by which it has ended, or 0.
    func end(_ worker: pid_t, waits: Bool) -> Int32 {
        state.withLock { state in
            if state.process > 0 {
                state.workerCount -= 1
                let signal = gwi_zygote_end_worker(state.socket, worker, waits)
                if signal >= 0 { return signal }
                Self.end(&state)
            }
            // Nobody knows any more how a worker of an earlier zygote ended, so that its file gets another chance.
            kill(worker, SIGKILL)
            return SIGKILL
        }
    }

    /// Goes on with another program, since the workers of this one are never ready: it may be that of another release.
    /// - Returns: Whether there is one.
    func useNextProgram() -> Bool {
        state.withLock { state in
            guard state.paths.count > 1 else { return false }
            WebImageLog.notice(
                "\(state.paths.first ?? "") makes no decode workers; \(state.paths[state.paths.startIndex + 1]) is used"
            )
            state.paths = state.paths.dropFirst()
            Self.end(&state)
            return true
        }
    }

    /// Ends the process, unless it has workers. The next one needs another process.
    func endIfUnused() {
        state.withLock { state in
            if state.workerCount <= 0 { Self.end(&state) }
        }
    }

    private static func end(_ state: inout State) {
        guard state.process > 0 else { return }
        gwi_zygote_end(state.socket, state.process)
        state = State(paths: state.paths)
    }
}
