import Dispatch
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore

/// The decode workers of an app, of which each is used by one thread at a time. They start when they are first needed, and end when
/// they have had nothing to do for a while.
final class WorkerPool: Sendable {
    /// What a thread may do that wants a worker.
    private enum Turn {
        case take(DecodeWorker)
        /// It takes the place of another worker, which it ends first.
        case start(ending: DecodeWorker?)
        case wait
        /// The worker that it wants has ended, or none can be started.
        case giveUp
    }

    /// What comes of the wish for a worker.
    enum Taken {
        case worker(DecodeWorker)
        /// The worker that was wanted has ended, or none can be started.
        case none
        case cancelled
    }

    /// A thread that wants a worker.
    private final class Waiter: Sendable {
        /// The worker that knows its file; `nil` for any.
        let number: UInt64?
        /// Whether the worker must have seen no file.
        let needsFresh: Bool
        /// Signalled when there may be something to do for it.
        let semaphore = DispatchSemaphore(value: 0)

        init(_ number: UInt64?, needsFresh: Bool) { (self.number, self.needsFresh) = (number, needsFresh) }

        func takes(_ worker: DecodeWorker) -> Bool {
            number.map { $0 == worker.number } ?? (needsFresh ? worker.fileCount == 0 : !worker.isWornOut)
        }
    }

    private typealias Idle = (worker: DecodeWorker, since: ContinuousClock.Instant)

    private struct State {
        /// The workers that are being started.
        var startCount = 0
        var idle: [Idle] = []
        /// The workers that threads have.
        var busy: [UInt64: DecodeWorker] = [:]
        /// The longest wait first.
        var waiters: [Waiter] = []
        var serial: UInt64 = 0
        var isReaping = false
        /// What fences the workers that have started last.
        var fence: DecodeAnswer.Fence?
        /// Why none starts.
        var obstacle: String?
        /// Starts that have failed one after the other.
        var failedStarts = 0
        /// When the first start was killed since the last one that was not; `nil` for none.
        var killedSince: ContinuousClock.Instant?
        /// When starts are tried again after too many have failed, and the pause before that.
        var retryTime = ContinuousClock.Instant.now
        var pause = WorkerPool.shortestPause
        /// Whether there has ever been a worker.
        var hasStarted = false

        /// The workers that take files, now or later.
        var count: Int { startCount + idle.count { !$0.worker.isWornOut } + busy.count }

        /// Whether a start is worth trying.
        var mayStart: Bool { .now >= retryTime }

        func wakeWaiters() {
            for waiter in waiters { waiter.semaphore.signal() }
        }

        /// What a thread may do that wants a worker.
        /// - Parameters:
        ///   - isFirst: Whether no other thread has waited longer for the worker.
        ///   - isShort: Whether the system has started no further worker for this thread, so that those that run will do.
        mutating func turn(_ waiter: Waiter, isFirst: Bool, isShort: Bool, limit: Int) -> Turn {
            // Where no other worker starts, one that has seen files is better than none.
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

    private let zygote: WorkerZygote
    private let kind: WorkerKind
    private let limit: Int
    private let idleTime: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - zygote: Makes the workers.
    ///   - limit: The most workers that run at a time.
    init(_ zygote: WorkerZygote, _ kind: WorkerKind, limit: Int, idleTime: Duration = .seconds(60)) {
        self.zygote = zygote
        self.kind = kind
        self.limit = max(limit, 1)
        self.idleTime = idleTime
    }

    /// What fences the workers that have started last, and why none starts now.
    var known: (fence: DecodeAnswer.Fence?, obstacle: String?) { state.withLock { ($0.fence, $0.obstacle) } }

    /// Whether workers can be started, as far as is known. Where there was one before, what keeps the next one from starting passes.
    var canStart: Bool { state.withLock { $0.hasStarted || $0.mayStart } }

    /// Whether there has ever been a worker.
    var hasStarted: Bool { state.withLock { $0.hasStarted } }

    /// Whether workers are killed as they start.
    var isKilled: Bool { state.withLock { $0.killedSince != nil } }

    /// The processes that run.
    var processes: [pid_t] {
        state.withLock { state in state.idle.map(\.worker.process) + state.busy.values.map(\.process) }
    }

    /// Starts workers before they are needed.
    func prepare() {
        var taken: [DecodeWorker] = []
        // Where the system starts no more, the next one would be one of these.
        while taken.count < limit, state.withLock({ $0.count < limit }),
            case .worker(let worker) = take(isCancelled: { !taken.isEmpty })
        {
            do throws(DecodeWorker.Failure) {
                try worker.waitUntilReady()
                taken.append(worker)
            } catch {
                giveBack(worker, isAlive: false)
                break
            }
        }
        for worker in taken { giveBack(worker, isAlive: true) }
    }

    /// Takes a worker, which the caller gives back. Waits for one when all have work.
    /// - Parameters:
    ///   - number: The one that knows a file; otherwise any.
    ///   - needsFresh: Whether it must have seen no file.
    ///   - isCancelled: Called several times a second.
    func take(_ number: UInt64? = nil, needsFresh: Bool = false, isCancelled: () -> Bool = { false }) -> Taken {
        let waiter = Waiter(number, needsFresh: needsFresh)
        var isShort = false
        while true {
            switch turn(of: waiter, isShort: isShort) {
            case .take(let worker): return .worker(worker)
            case .start(let old):
                old?.end()
                let start = zygote.makeWorker()
                if case .busy = start { isShort = true }
                if let worker = note(start) { return .worker(worker) }
            case .wait:
                _ = waiter.semaphore.wait(timeout: .now() + .milliseconds(100))
                guard isCancelled() else { continue }
                change { state in state.waiters.removeAll { $0 === waiter } }
                return .cancelled
            case .giveUp: return .none
            }
        }
    }

    /// What a thread may do now. It stands in the queue as long as it waits.
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

    /// Changes what threads wait for.
    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.wakeWaiters()
        }
    }

    /// Notes what has come of a start.
    private func note(_ start: WorkerZygote.Start) -> DecodeWorker? {
        let (worker, isOnly) = state.withLock { state -> (DecodeWorker?, Bool) in
            state.startCount -= 1
            guard case .worker(let made) = start else { return (nil, state.count == 0) }
            state.serial += 1
            let worker = DecodeWorker(made, of: zygote, kind, number: state.serial)
            state.busy[worker.number] = worker
            return (worker, false)
        }
        switch start {
        case .busy where isOnly:
            noteFailedStart("The system is short of processes, descriptors or memory", isShortage: true)
        case .killed: noteKilledStart()
        case .failed(let program) where !zygote.useNextProgram(after: program):
            noteFailedStart("The system starts no process")
        default: break
        }
        return worker
    }

    /// Gives back a worker.
    /// - Parameter isAlive: Whether it may be used again; otherwise it ends.
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
        reapLater()
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

    /// The kernel kills when memory is short.
    private func noteKilledStart() {
        state.withLock { $0.killedSince = $0.killedSince ?? .now }
        noteFailedStart("Workers are killed as they start", isShortage: true, mayRepeat: false)
    }

    /// - Parameters:
    ///   - isShortage: Whether the next start may well succeed.
    ///   - mayRepeat: Whether some more starts are tried at once.
    private func noteFailedStart(_ reason: String, isShortage: Bool = false, mayRepeat: Bool = true) {
        let isLast = state.withLock { state in
            state.failedStarts += 1
            state.wakeWaiters()
            if !state.hasStarted { state.obstacle = reason }
            guard !mayRepeat || state.failedStarts >= Self.mostFailedStarts else { return false }
            state.retryTime = .now + (isShortage ? Self.shortagePause : state.pause)
            if !isShortage { state.pause = min(state.pause * 2, Self.longestPause) }
            state.obstacle = reason
            return state.failedStarts == Self.mostFailedStarts
        }
        if isLast { WebImageLog.error("\(SandboxStatus.unavailable(reason))") }
    }

    /// Ends workers that have nothing to do.
    func endIdleWorkers(idleFor time: Duration = .zero) {
        let limit = ContinuousClock.now - time
        endWorkers { $0.since <= limit }
        zygote.endIfUnused()
    }

    private func endWorkers(where isEnding: (Idle) -> Bool) {
        let ended = state.withLock { state in
            let ended = state.idle.filter(isEnding)
            if !ended.isEmpty { state.idle.removeAll { idle in ended.contains { $0.worker === idle.worker } } }
            return ended
        }
        for idle in ended { idle.worker.end() }
    }

    private func reapLater() {
        let isFirst = state.withLock { state in
            defer { state.isReaping = true }
            return !state.isReaping
        }
        guard isFirst else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + idleTime / .seconds(1)) { [weak self] in
            guard let self else { return }
            endIdleWorkers(idleFor: idleTime)
            let isIdle = state.withLock { state in
                state.isReaping = false
                return !state.idle.isEmpty
            }
            if isIdle { reapLater() }
        }
    }

    /// After so many starts in a row have failed, the next one is tried after a pause.
    private static let mostFailedStarts = 3
    private static let shortestPause = Duration.seconds(30)
    private static let longestPause = Duration.seconds(3600)
    private static let shortagePause = Duration.seconds(1)
    /// How long images wait for workers that are killed as they start.
    private static let patience = Duration.seconds(5)
}
