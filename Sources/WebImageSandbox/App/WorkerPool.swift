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
        case start
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
        /// Signalled when there may be something to do for it.
        let semaphore = DispatchSemaphore(value: 0)

        init(_ number: UInt64?) { self.number = number }
    }

    private struct State {
        /// The workers that are being started.
        var startCount = 0
        var idle: [(worker: DecodeWorker, since: ContinuousClock.Instant)] = []
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
        /// When starts are tried again after too many have failed, and the pause before that.
        var retryTime = ContinuousClock.Instant.now
        var pause = WorkerPool.shortestPause
        /// Whether there has ever been a worker.
        var hasStarted = false

        var count: Int { startCount + idle.count + busy.count }

        /// Whether a start is worth trying.
        var mayStart: Bool { failedStarts < WorkerPool.mostFailedStarts || .now >= retryTime }

        func wakeWaiters() {
            for waiter in waiters { waiter.semaphore.signal() }
        }

        /// What a thread may do that wants a worker.
        /// - Parameters:
        ///   - number: The worker that knows its file; `nil` for any.
        ///   - isFirst: Whether no other thread has waited longer for the worker.
        ///   - isShort: Whether the system has started no further worker for this thread, so that those that run will do.
        mutating func turn(_ number: UInt64?, isFirst: Bool, isShort: Bool, limit: Int) -> Turn {
            if isFirst, let index = idle.lastIndex(where: { number == nil || $0.worker.number == number }) {
                let worker = idle.remove(at: index).worker
                busy[worker.number] = worker
                return .take(worker)
            }
            if let number {
                return busy[number] != nil || idle.contains { $0.worker.number == number } ? .wait : .giveUp
            }
            if count == 0, !mayStart { return .giveUp }
            guard count < limit, mayStart, count == 0 || !isShort else { return .wait }
            startCount += 1
            return .start
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

    /// The state of the sandbox, as far as this pool knows it.
    var status: SandboxStatus {
        let (fence, obstacle) = state.withLock { ($0.fence, $0.obstacle) }
        return obstacle.map(SandboxStatus.unavailable) ?? fence.map(SandboxStatus.init) ?? .notStarted
    }

    /// Whether workers can be started, as far as is known. Where there was one before, what keeps the next one from starting passes.
    var canStart: Bool { state.withLock { $0.hasStarted || $0.mayStart } }

    /// Whether there has ever been a worker.
    var hasStarted: Bool { state.withLock { $0.hasStarted } }

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
    ///   - isCancelled: Called several times a second.
    func take(_ number: UInt64? = nil, isCancelled: () -> Bool = { false }) -> Taken {
        let waiter = Waiter(number)
        var isShort = false
        while true {
            switch turn(of: waiter, isShort: isShort) {
            case .take(let worker): return .worker(worker)
            case .start:
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
                .contains { $0.number == nil || $0.number == waiter.number }
            let turn = state.turn(waiter.number, isFirst: isFirst, isShort: isShort, limit: limit)
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
        case .failed(let program) where !zygote.useNextProgram(after: program):
            noteFailedStart("The system starts no process")
        default: break
        }
        return worker
    }

    /// Gives back a worker.
    /// - Parameter isAlive: Whether it may be used again; otherwise it ends.
    func giveBack(_ worker: DecodeWorker, isAlive: Bool) {
        guard isAlive, !worker.isWornOut else {
            worker.end()
            if worker.fence == nil, !zygote.useNextProgram(after: worker.program) { noteFailedStart(worker.obstacle) }
            return change { $0.busy[worker.number] = nil }
        }
        note(worker.fence)
        change { state in
            state.busy[worker.number] = nil
            state.idle.append((worker, .now))
        }
        reapLater()
    }

    private func note(_ fence: DecodeAnswer.Fence?) {
        guard let fence else { return }
        let isNew = state.withLock { state in
            state.failedStarts = 0
            state.pause = Self.shortestPause
            state.hasStarted = true
            defer { (state.fence, state.obstacle) = (fence, nil) }
            return state.fence != fence || state.obstacle != nil
        }
        if isNew { SandboxStatus(fence).log() }
    }

    /// - Parameter isShortage: Whether the next start may well succeed.
    private func noteFailedStart(_ reason: String, isShortage: Bool = false) {
        let isLast = state.withLock { state in
            state.failedStarts += 1
            state.wakeWaiters()
            if !state.hasStarted { state.obstacle = reason }
            guard state.failedStarts >= Self.mostFailedStarts else { return false }
            state.retryTime = .now + (isShortage ? Self.shortagePause : state.pause)
            if !isShortage { state.pause = min(state.pause * 2, Self.longestPause) }
            state.obstacle = reason
            return state.failedStarts == Self.mostFailedStarts
        }
        if isLast { WebImageLog.error("\(SandboxStatus.unavailable(reason))") }
    }

    /// Ends workers that have nothing to do.
    func endIdleWorkers(idleFor time: Duration = .zero) {
        let ended = state.withLock { state -> [DecodeWorker] in
            let limit = ContinuousClock.now - time
            let ended = state.idle.filter { $0.since <= limit }.map(\.worker)
            state.idle.removeAll { $0.since <= limit }
            return ended
        }
        for worker in ended { worker.end() }
        zygote.endIfUnused()
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
}
