internal import CWebImageSandboxShims
import Glibc
import Synchronization
import WebImageCore

/// The process of which the decode workers of one kind are forked: the app's own program started again, which has loaded what decoders
/// need. A worker is there at once, while a start of the program takes tens of milliseconds.
final class WorkerZygote: Sendable {
    /// A worker process, with its socket and the memory that it shares with the app.
    ///
    /// @unchecked: its memory is used by whoever has the worker.
    struct Worker: @unchecked Sendable {
        let process: pid_t
        let socket: Int32
        let memory: UnsafeMutableRawPointer
        /// The program that it is made of.
        let program: String
        /// Which zygote has made it.
        fileprivate let generation: Int
        /// Names the process also when its number names another one, or -1.
        fileprivate let handle: Int32
    }

    /// What comes of the wish for a worker.
    enum Start: Sendable {
        case worker(Worker)
        /// The system is short of processes, descriptors or memory, which may change at any time.
        case busy
        /// Somebody has killed the zygote.
        case killed
        /// The program makes none.
        case failed(program: String)
    }

    private struct State {
        var process: pid_t = -1
        var handle: Int32 = -1
        var socket: Int32 = -1
        var generation = 0
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

    deinit { state.withLock { _ = Self.end(&$0) } }

    /// The process, while there is one.
    var process: pid_t? { state.withLock { $0.process > 0 ? $0.process : nil } }

    /// Makes a worker, once the program has started. A zygote that has ended is replaced.
    func makeWorker() -> Start {
        var memory: UnsafeMutableRawPointer?
        let file = gwi_worker_memory(SharedMemory.byteCount, &memory)
        guard file >= 0, let memory else { return .busy }
        defer { close(file) }
        // The address is a number to the closure, which is Sendable.
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
    /// - Parameter waits: Whether it is about to end by itself, so that it is not killed at once.
    /// - Returns: The signal by which it has ended, or 0.
    func end(_ worker: Worker, waits: Bool) -> Int32 {
        defer { if worker.handle >= 0 { close(worker.handle) } }
        return state.withLock { state in
            if state.process > 0, state.generation == worker.generation {
                state.workerCount -= 1
                let signal = gwi_zygote_end_worker(state.socket, worker.process, waits)
                if signal >= 0 { return signal }
                Self.end(&state)
            }
            // Nobody knows any more how a worker of an earlier zygote ended, so that its file gets another chance.
            if worker.handle >= 0 { gwi_process_kill(worker.handle) }
            return SIGKILL
        }
    }

    /// Goes on with another program, since the workers of one are never ready: it may be that of another release.
    /// - Returns: Whether there is one.
    func useNextProgram(after program: String) -> Bool {
        state.withLock { state in
            // Several workers of the same program may find that out.
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

    /// Ends the process, unless it has workers. The next one needs another process.
    func endIfUnused() {
        state.withLock { state in
            if state.workerCount <= 0 { Self.end(&state) }
        }
    }

    /// - Returns: The signal by which it has ended, or 0. One that hangs is killed.
    @discardableResult
    private static func end(_ state: inout State) -> Int32 {
        guard state.process > 0 else { return 0 }
        defer { state = State(generation: state.generation, paths: state.paths) }
        return gwi_zygote_end(state.socket, state.process, state.handle)
    }
}
