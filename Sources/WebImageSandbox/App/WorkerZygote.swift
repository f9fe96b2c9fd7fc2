internal import CWebImageSandboxShims
import Glibc
import Synchronization
import WebImageCore

/// The process that workers of one kind are forked from. It is the app's own program, started again, which has loaded
/// everything that decoders need. A fork is immediate, while a start of the program takes tens of milliseconds.
final class WorkerZygote: Sendable {
    /// A worker process, with its socket and the memory that it shares with the app.
    ///
    /// @unchecked: only the thread that uses the worker accesses its memory.
    struct Worker: @unchecked Sendable {
        let process: pid_t
        let socket: Int32
        let memory: UnsafeMutableRawPointer
        /// The program that the worker runs.
        let program: String
        /// The number of the zygote that forked the worker.
        fileprivate let generation: Int
        /// A handle that stays valid after the process number is reused; -1 if there is none.
        fileprivate let handle: Int32
    }

    /// The outcome of a request for a worker.
    enum Start: Sendable {
        case worker(Worker)
        /// The system is short of processes, descriptors or memory. This may change at any time.
        case busy
        /// The zygote was killed from outside.
        case killed
        /// The program forks no worker.
        case failed(program: String)
    }

    private struct State {
        var process: pid_t = -1
        var handle: Int32 = -1
        var socket: Int32 = -1
        var generation = 0
        /// The programs that have not failed.
        var paths: ArraySlice<String>
        /// The number of forked workers that have not ended.
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

    deinit { state.withLock { _ = Self.end(&$0) } }

    /// The process, if it is running.
    var process: pid_t? { state.withLock { $0.process > 0 ? $0.process : nil } }

    /// Forks a worker, after the program has started. A zygote that has ended is replaced.
    func makeWorker() -> Start {
        var memory: UnsafeMutableRawPointer?
        let file = gwi_worker_memory(SharedMemory.byteCount, &memory)
        guard file >= 0, let memory else { return .busy }
        defer { close(file) }
        // The closure is Sendable, so it captures the address as a number.
        let address = UInt(bitPattern: memory)
        let start = state.withLock { makeWorker(of: &$0, file, address) }
        if case .worker = start { return start }
        munmap(memory, SharedMemory.byteCount)
        return start
    }

    private func makeWorker(of state: inout State, _ file: Int32, _ address: UInt) -> Start {
        let program = state.paths.first ?? WorkerProgram.own
        guard let memory = UnsafeMutableRawPointer(bitPattern: address) else { return .busy }
        var signal: Int32 = 0
        for _ in 0..<2 {
            if state.process < 0 {
                let process = gwi_zygote_start(program, kind.rawValue, &state.socket)
                guard process > 0 else { return Self.isShortage(errno) ? .busy : .failed(program: program) }
                (state.process, state.handle) = (process, gwi_process_open(process))
                state.generation += 1
            }
            var socket: Int32 = -1
            let process = gwi_zygote_make_worker(state.socket, file, &socket)
            if process > 0 {
                state.workerCount += 1
                return .worker(
                    Worker(
                        process: process,
                        socket: socket,
                        memory: memory,
                        program: program,
                        generation: state.generation,
                        handle: gwi_process_open(process)
                    )
                )
            }
            if Self.isShortage(errno) { return .busy }
            let hangs = errno == ETIMEDOUT
            signal = Self.end(&state)
            if hangs { signal = 0 }
        }
        return signal == SIGKILL ? .killed : .failed(program: program)
    }

    private static func isShortage(_ error: Int32) -> Bool { [EAGAIN, ENOMEM, EMFILE, ENFILE].contains(error) }

    /// Ends a worker.
    /// - Parameter waits: Whether the worker is about to end by itself and must not be killed at once.
    /// - Returns: The signal that ended the worker, or 0.
    func end(_ worker: Worker, waits: Bool) -> Int32 {
        defer { if worker.handle >= 0 { close(worker.handle) } }
        return state.withLock { state in
            if state.process > 0, state.generation == worker.generation {
                state.workerCount -= 1
                let signal = gwi_zygote_end_worker(state.socket, worker.process, waits)
                if signal >= 0 { return signal }
                Self.end(&state)
            }
            // The exit status of a worker of an earlier zygote is lost, so its file gets another chance.
            if worker.handle >= 0 { gwi_process_kill(worker.handle) }
            return SIGKILL
        }
    }

    /// Switches to the next program, because workers of the current one are never ready. It may belong to another release.
    /// - Returns: Whether there is a next program.
    func useNextProgram(after program: String) -> Bool {
        state.withLock { state in
            // Several workers of the same program may report this.
            guard state.paths.first == program else { return true }
            guard state.paths.count > 1 else { return false }
            WebImageLog.notice(
                "\(state.paths.first ?? "") makes no decode workers; \(state.paths[state.paths.startIndex + 1]) is used"
            )
            state.paths = state.paths.dropFirst()
            Self.end(&state)
            return true
        }
    }

    /// Ends the process if it has no workers. The next worker starts another process.
    func endIfUnused() {
        state.withLock { state in
            if state.workerCount <= 0 { Self.end(&state) }
        }
    }

    /// - Returns: The signal that ended the process, or 0. A process that hangs is killed.
    @discardableResult
    private static func end(_ state: inout State) -> Int32 {
        guard state.process > 0 else { return 0 }
        defer { state = State(generation: state.generation, paths: state.paths) }
        return gwi_zygote_end(state.socket, state.process, state.handle)
    }
}
