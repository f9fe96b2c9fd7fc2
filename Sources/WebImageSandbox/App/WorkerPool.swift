import Dispatch
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore

/// The decode workers of one kind. One thread at a time uses a worker. Workers start when they are first needed, and
/// end after they have been idle for a while: see WorkerPool+Starting.swift.
final class WorkerPool: Sendable {
    /// What a thread that needs a worker may do.
    enum Turn {
        case take(DecodeWorker)
        /// The new worker takes the place of another one, which the thread ends first.
        case start(ending: DecodeWorker?)
        case wait
        /// The requested worker has ended, or no worker can be started.
        case giveUp
    }

    /// A thread that waits for a worker.
    final class Waiter: Sendable {
        /// The worker that has the thread's file; `nil` for any worker.
        let number: UInt64?
        /// Whether the worker must have seen no file.
        let needsFresh: Bool
        /// Signalled when the thread should check its turn again.
        let semaphore = DispatchSemaphore(value: 0)

        init(_ number: UInt64?, needsFresh: Bool) { (self.number, self.needsFresh) = (number, needsFresh) }

        func takes(_ worker: DecodeWorker) -> Bool {
            number.map { $0 == worker.number } ?? (needsFresh ? worker.fileCount == 0 : !worker.isWornOut)
        }
    }

    typealias Idle = (worker: DecodeWorker, since: ContinuousClock.Instant)

    struct State {
        /// The workers that are being started.
        var startCount = 0
        var idle: [Idle] = []
        /// The workers that threads are using.
        var busy: [UInt64: DecodeWorker] = [:]
        /// The waiting threads, the longest wait first.
        var waiters: [Waiter] = []
        var serial: UInt64 = 0
        var isReaping = false
        /// The protections of the worker that started last.
        var fence: DecodeAnswer.Fence?
        /// Why no worker starts.
        var obstacle: String?
        /// The number of consecutive failed starts.
        var failedStarts = 0
        /// When the current series of killed starts began; `nil` if there is none.
        var killedSince: ContinuousClock.Instant?
        /// When to try again after too many failed starts, and the length of that pause.
        var retryTime = ContinuousClock.Instant.now
        var pause = WorkerPool.shortestPause
        /// Whether a worker has ever been ready.
        var hasStarted = false

        /// The number of workers that accept files, now or later.
        var count: Int { startCount + idle.count { !$0.worker.isWornOut } + busy.count }

        /// Whether a start may be tried.
        var mayStart: Bool { .now >= retryTime }

        func wakeWaiters() {
            for waiter in waiters { waiter.semaphore.signal() }
        }

        /// Decides what a thread that needs a worker may do.
        /// - Parameters:
        ///   - isFirst: Whether no other thread has waited longer for the worker.
        ///   - isShort: Whether the system could not start another worker for this thread, so that a running one must do.
        mutating func turn(_ waiter: Waiter, isFirst: Bool, isShort: Bool, limit: Int) -> Turn {
            // If no other worker can start, a worker that has seen files is better than none.
            let takesAny = waiter.needsFresh && (isShort || !mayStart)
            if isFirst, let index = idle.lastIndex(where: { takesAny || waiter.takes($0.worker) }) {
                let worker = idle.remove(at: index).worker
                busy[worker.number] = worker
                return .take(worker)
            }
            if let number = waiter.number {
                return busy[number] != nil || idle.contains { $0.worker.number == number } ? .wait : .giveUp
            }
            if count == 0, !mayStart {
                return killedSince.map { .now < $0 + WorkerPool.patience } == true ? .wait : .giveUp
            }
            guard mayStart, count == 0 || !isShort else { return .wait }
            var old: DecodeWorker?
            if count >= limit {
                guard waiter.needsFresh, isFirst, !idle.isEmpty else { return .wait }
                old = idle.firstIndex { !$0.worker.keepsFiles }.map { idle.remove(at: $0).worker }
            }
            startCount += 1
            return .start(ending: old)
        }
    }

    let zygote: WorkerZygote
    let kind: WorkerKind
    let limit: Int
    private let timeLimits: DecodeWorker.TimeLimits
    let state = Mutex(State())
    private let handles = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - zygote: Forks the workers.
    ///   - limit: The largest number of running workers.
    ///   - timeLimits: How long a worker may take for a command.
    init(_ zygote: WorkerZygote, _ kind: WorkerKind, limit: Int, timeLimits: DecodeWorker.TimeLimits) {
        (self.zygote, self.kind, self.limit, self.timeLimits) = (zygote, kind, max(limit, 1), timeLimits)
    }

    /// The protections of the worker that started last, and why no worker starts now.
    var known: (fence: DecodeAnswer.Fence?, obstacle: String?) { state.withLock { ($0.fence, $0.obstacle) } }

    /// Whether workers can be started, as far as is known. If one has started before, the obstacle to the next start will pass.
    var canStart: Bool { state.withLock { $0.hasStarted || $0.mayStart } }

    /// Whether a worker has ever been ready.
    var hasStarted: Bool { state.withLock { $0.hasStarted } }

    /// Whether workers are being killed as they start.
    var isKilled: Bool { state.withLock { $0.killedSince != nil } }

    /// The running processes.
    var processes: [pid_t] {
        state.withLock { state in state.idle.map(\.worker.process) + state.busy.values.map(\.process) }
    }

    /// A unique handle for a file that a worker keeps.
    func makeHandle() -> UInt64 { handles.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Performs a command that needs no particular worker. It is repeated if the worker did not start or was killed from outside.
    /// It is repeated once in a fresh worker if it fails in a worker that has seen other files, because these may be the cause.
    /// - Parameter inFreshWorker: Whether the file may have ended a worker that had seen other files.
    func perform(
        _ command: DecodeCommand,
        _ data: Data?,
        inFreshWorker: Bool = false,
        isCancelled: () -> Bool = { false }
    ) throws(ImageError) -> (answer: DecodeAnswer, payload: DecodeWorker.Payload?, worker: DecodeWorker) {
        var (attempt, needsFresh) = (1, inFreshWorker)
        while true {
            let taken: DecodeWorker?
            do throws(DecodeWorker.Failure) {
                taken = try take(needsFresh: needsFresh, isCancelled: isCancelled)
            } catch {
                throw error.error(command.options)
            }
            guard let worker = taken else {
                let error = command.options.noWorker(known.obstacle)
                // A worker has started before, so the cause will pass.
                throw isKilled || hasStarted ? error.dependingOnRequest() : error
            }
            worker.fileCount += 1
            if command.handle != 0 { worker.keep() }
            do throws(DecodeWorker.Failure) {
                let (answer, payload) = try perform(command, data, with: worker, until: isCancelled)
                return (answer, payload, worker)
            } catch {
                if case .notSent = error, command.handle != 0 { worker.forget(command.handle) }
                switch error {
                // The pool will soon report that there is none.
                case .notStarted where worker.fence == nil: continue
                case .notStarted, .ended(SIGKILL):
                    guard attempt < Self.mostAttempts else { throw command.options.lostWorkers }
                    // A worker with files of other callers may end in a way that looks the same.
                    (attempt, needsFresh) = (attempt + 1, needsFresh || attempt > 2)
                case .timedOut(hadTime: false) where !needsFresh: needsFresh = true
                case .ended, .malformed, .timedOut, .doubtful:
                    guard worker.fileCount > 1 else { throw error.error(command.options) }
                    guard !needsFresh else { throw command.options.lostWorkers }
                    needsFresh = true
                default: throw error.error(command.options)
                }
            }
        }
    }

    /// Performs a command on a file that a worker keeps.
    /// - Returns: The answer `unknown` if the worker has ended.
    func perform(
        _ command: DecodeCommand,
        _ data: Data?,
        in keeper: DecodeWorker
    ) throws(ImageError) -> (answer: DecodeAnswer, payload: DecodeWorker.Payload?) {
        do throws(DecodeWorker.Failure) {
            guard try take(keeper.number) != nil else { return (.unknown, nil) }
            return try perform(command, data, with: keeper) { false }
        } catch {
            switch error {
            case .notStarted, .ended(SIGKILL): return (.unknown, nil)
            case .ended, .malformed, .timedOut: if keeper.fileCount > 1 { return (.unknown, nil) }
            default: break
            }
            throw error.error(command.options)
        }
    }

    /// Performs a command in a worker that was taken, and gives the worker back.
    private func perform(
        _ command: DecodeCommand,
        _ data: Data?,
        with worker: DecodeWorker,
        until isCancelled: () -> Bool
    ) throws(DecodeWorker.Failure) -> (DecodeAnswer, DecodeWorker.Payload?) {
        do throws(DecodeWorker.Failure) {
            let answer = try worker.perform(command, data, within: timeLimits, isCancelled: isCancelled)
            if case .failure(let error) = answer.0, error.isPermanent, error.unreservedPixelCount == nil,
                command.handle == 0, worker.fileCount > 1
            {
                throw .doubtful
            }
            giveBack(worker, isAlive: true)
            return answer
        } catch {
            switch error {
            case .notSent: giveBack(worker, isAlive: true)
            // The worker may keep arriving files that are intact.
            case .doubtful: giveBack(worker, isAlive: worker.keepsFiles)
            default: giveBack(worker, isAlive: false)
            }
            throw error
        }
    }

    /// Takes a worker, which the caller gives back. Waits if all workers are busy.
    /// - Parameters:
    ///   - number: The worker that keeps a file; `nil` for any worker.
    ///   - needsFresh: Whether the worker must not have seen any file.
    ///   - isCancelled: Called several times a second.
    /// - Throws: ``DecodeWorker/Failure/cancelled``.
    /// - Returns: `nil` if the requested worker has ended, or no worker can be started.
    func take(
        _ number: UInt64? = nil,
        needsFresh: Bool = false,
        isCancelled: () -> Bool = { false }
    ) throws(DecodeWorker.Failure) -> DecodeWorker? {
        let waiter = Waiter(number, needsFresh: needsFresh)
        var isShort = false
        while true {
            switch turn(of: waiter, isShort: isShort) {
            case .take(let worker): return worker
            case .start(let old):
                old?.end()
                if let worker = start(isShort: &isShort) { return worker }
            case .wait:
                _ = waiter.semaphore.wait(timeout: .now() + .milliseconds(100))
                guard isCancelled() else { continue }
                change { state in state.waiters.removeAll { $0 === waiter } }
                throw .cancelled
            case .giveUp: return nil
            }
        }
    }

    /// Decides what a thread may do now. The thread stays in the queue while it waits.
    private func turn(of waiter: Waiter, isShort: Bool) -> Turn {
        state.withLock { state in
            let place = state.waiters.firstIndex { $0 === waiter }
            let isFirst = !state.waiters[..<(place ?? state.waiters.endIndex)]
                .contains { $0.number == waiter.number || $0.number == nil && !$0.needsFresh }
            let turn = state.turn(waiter, isFirst: isFirst, isShort: isShort, limit: limit)
            if case .wait = turn {
                if place == nil { state.waiters.append(waiter) }
            } else if let place {
                state.waiters.remove(at: place)
                state.wakeWaiters()
            }
            return turn
        }
    }

    /// Changes the state that threads wait for, and wakes them.
    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.wakeWaiters()
        }
    }

    /// Gives back a worker.
    /// - Parameter isAlive: Whether the worker may be used again. Otherwise it is ended.
    func giveBack(_ worker: DecodeWorker, isAlive: Bool) {
        note(worker.fence)
        guard isAlive, !worker.isDone, !worker.hasTooManyThreads else {
            worker.end()
            if worker.wasKilled {
                noteKilledStart()
            } else if worker.fence == nil, !zygote.useNextProgram(after: worker.program) {
                noteFailedStart(worker.obstacle)
            }
            return change { $0.busy[worker.number] = nil }
        }
        change { state in
            state.busy[worker.number] = nil
            state.idle.append((worker, .now))
        }
        endWorkers { $0.worker.isDone }
        reapLater(after: Self.idleTime)
    }

    private func note(_ fence: DecodeAnswer.Fence?) {
        guard let fence else { return }
        let isNew = state.withLock { state in
            (state.failedStarts, state.killedSince, state.retryTime) = (0, nil, .now)
            state.pause = Self.shortestPause
            state.hasStarted = true
            defer { (state.fence, state.obstacle) = (fence, nil) }
            return state.fence != fence || state.obstacle != nil
        }
        if isNew { SandboxStatus(fence).log() }
    }

    /// The largest number of attempts if workers are killed from outside. All idle workers may have been killed.
    private static let mostAttempts = 10
    static let shortestPause = Duration.seconds(30)
    /// How long images wait for workers while these are killed as they start.
    private static let patience = Duration.seconds(5)
}
