import Dispatch
import FoundationEssentials
import Glibc
import Synchronization
import WebImageCore

/// The decode workers of an app, of which each is used by one thread at a time. They start when they are first needed, and end when
/// they have had nothing to do for a while.
final class WorkerPool: Sendable {
    /// What a thread gets that has asked for a worker.
    private enum Turn {
        case worker(DecodeWorker)
        /// It may start one.
        case start
        /// It waits for its turn.
        case wait(TurnBox)
        /// The worker that it wanted has ended, or none can be started.
        case none
    }

    /// What comes of the wish for a worker.
    enum Taken {
        case worker(DecodeWorker)
        /// The worker that was wanted has ended, or none can be started.
        case none
        case cancelled
    }

    private struct Waiter {
        /// The worker that knows the file; `nil` for any.
        let number: UInt64?
        let turn: TurnBox
    }

    private final class TurnBox: Sendable {
        let semaphore = DispatchSemaphore(value: 0)
        let turn = Mutex(Turn.none)

        func give(_ turn: Turn) {
            self.turn.withLock { $0 = turn }
            semaphore.signal()
        }
    }

    private struct State {
        /// All that run or are being started.
        var count = 0
        var idle: [(worker: DecodeWorker, since: ContinuousClock.Instant)] = []
        var busy: Set<UInt64> = []
        /// The processes of those that have been started.
        var processes: [UInt64: pid_t] = [:]
        var waiters: [Waiter] = []
        var serial: UInt64 = 0
        var isReaping = false
        var status = SandboxStatus.notStarted
        /// Starts that have failed one after the other.
        var failedStarts = 0
        /// When starts are tried again after too many have failed, and the pause before that.
        var retryTime = ContinuousClock.Instant.now
        var pause = WorkerPool.shortestPause
        /// Whether there has ever been a worker.
        var hasStarted = false

        /// Whether a start is worth trying.
        var mayStart: Bool { failedStarts < WorkerPool.mostFailedStarts || .now >= retryTime }
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
    var status: SandboxStatus { state.withLock { $0.status } }

    /// Whether workers can be started, as far as is known. Where there was one before, what keeps the next one from starting passes.
    var canStart: Bool { state.withLock { $0.hasStarted || $0.mayStart } }

    /// Whether a start is worth trying.
    var mayStart: Bool { state.withLock { $0.mayStart } }

    /// Whether there has ever been a worker.
    var hasStarted: Bool { state.withLock { $0.hasStarted } }

    /// The processes that run.
    var processes: [pid_t] { state.withLock { Array($0.processes.values) } }

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
        var turn = state.withLock { next(&$0, number) }
        while true {
            switch turn {
            case .worker(let worker): return .worker(worker)
            case .start: turn = start()
            case .wait(let box):
                guard let given = wait(box, isCancelled) else { return .cancelled }
                turn = given
            case .none: return .none
            }
        }
    }

    private func next(_ state: inout State, _ number: UInt64?) -> Turn {
        if let number {
            if let index = state.idle.firstIndex(where: { $0.worker.number == number }) {
                state.busy.insert(number)
                return .worker(state.idle.remove(at: index).worker)
            }
            guard state.busy.contains(number) else { return .none }
        } else {
            if let last = state.idle.popLast() {
                state.busy.insert(last.worker.number)
                return .worker(last.worker)
            }
            if state.count == 0, !state.mayStart { return .none }
            if state.count < limit, state.mayStart {
                state.count += 1
                return .start
            }
        }
        let box = TurnBox()
        state.waiters.append(Waiter(number: number, turn: box))
        return .wait(box)
    }

    /// - Returns: `nil` when the wait was cancelled.
    private func wait(_ box: TurnBox, _ isCancelled: () -> Bool) -> Turn? {
        while box.semaphore.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            guard isCancelled() else { continue }
            let isRemoved = state.withLock { state in
                let index = state.waiters.firstIndex { $0.turn === box }
                if let index { state.waiters.remove(at: index) }
                return index != nil
            }
            // What was given in between has to be taken.
            if isRemoved { return nil }
        }
        return box.turn.withLock { $0 }
    }

    private func start() -> Turn {
        let number = state.withLock { state in
            state.serial += 1
            return state.serial
        }
        switch zygote.makeWorker() {
        case .worker(let made):
            let worker = DecodeWorker(made, of: zygote, kind, number: number)
            state.withLock { state in
                state.busy.insert(number)
                state.processes[number] = worker.process
            }
            return .worker(worker)
        case .busy:
            // Those that run will do.
            let turn = state.withLock { state -> Turn? in
                guard state.count > 1 else { return nil }
                state.count -= 1
                if let last = state.idle.popLast() {
                    state.busy.insert(last.worker.number)
                    return .worker(last.worker)
                }
                let box = TurnBox()
                state.waiters.append(Waiter(number: nil, turn: box))
                return .wait(box)
            }
            if let turn { return turn }
            noteFailedStart("The system is short of processes, descriptors or memory", isShortage: true)
            return .none
        case .failed(let program):
            if zygote.useNextProgram(after: program) { return .start }
            noteFailedStart("The system starts no process")
            return .none
        }
    }

    /// Gives back a worker.
    /// - Parameter isAlive: Whether it may be used again; otherwise it ends.
    func giveBack(_ worker: DecodeWorker, isAlive: Bool) {
        guard isAlive, !worker.isWornOut else {
            worker.end()
            if worker.fence == nil, !zygote.useNextProgram(after: worker.program) {
                return noteFailedStart(worker.obstacle, worker.number)
            }
            return remove(worker.number)
        }
        note(worker.fence)
        let waiter = state.withLock { state -> Waiter? in
            if let index = state.waiters.firstIndex(where: { $0.number == nil || $0.number == worker.number }) {
                return state.waiters.remove(at: index)
            }
            state.busy.remove(worker.number)
            state.idle.append((worker, .now))
            return nil
        }
        if let waiter { waiter.turn.give(.worker(worker)) } else { reapLater() }
    }

    /// Removes a worker that has ended. Whoever waited for it does so in vain, and another one may be started in its place.
    private func remove(_ number: UInt64?) {
        let (gone, next) = state.withLock { state -> ([Waiter], Waiter?) in
            state.count -= 1
            var gone: [Waiter] = []
            if let number {
                state.busy.remove(number)
                state.processes[number] = nil
                gone = state.waiters.filter { $0.number == number }
                state.waiters.removeAll { $0.number == number }
            }
            if !state.mayStart, state.count == 0 {
                gone += state.waiters
                state.waiters = []
            }
            guard state.mayStart, let index = state.waiters.firstIndex(where: { $0.number == nil }) else {
                return (gone, nil)
            }
            state.count += 1
            return (gone, state.waiters.remove(at: index))
        }
        for waiter in gone { waiter.turn.give(.none) }
        next?.turn.give(.start)
    }

    private func note(_ fence: DecodeAnswer.Fence?) {
        guard let fence else { return }
        let status = SandboxStatus(fence)
        let isNew = state.withLock { state in
            state.failedStarts = 0
            state.pause = Self.shortestPause
            state.hasStarted = true
            defer { state.status = status }
            return state.status != status
        }
        if isNew { status.log() }
    }

    /// - Parameter isShortage: Whether the next start may well succeed.
    private func noteFailedStart(_ reason: String, _ number: UInt64? = nil, isShortage: Bool = false) {
        let isLast = state.withLock { state in
            state.failedStarts += 1
            if !state.hasStarted { state.status = .unavailable(reason) }
            guard state.failedStarts >= Self.mostFailedStarts else { return false }
            state.retryTime = .now + (isShortage ? Self.shortagePause : state.pause)
            if !isShortage { state.pause = min(state.pause * 2, Self.longestPause) }
            defer { state.status = .unavailable(reason) }
            return state.failedStarts == Self.mostFailedStarts
        }
        if isLast { WebImageLog.error("\(SandboxStatus.unavailable(reason))") }
        remove(number)
    }

    /// Ends workers that have nothing to do.
    func endIdleWorkers(idleFor time: Duration = .zero) {
        let ended = state.withLock { state -> [DecodeWorker] in
            let limit = ContinuousClock.now - time
            let ended = state.idle.filter { $0.since <= limit }.map(\.worker)
            state.idle.removeAll { $0.since <= limit }
            state.count -= ended.count
            for worker in ended { state.processes[worker.number] = nil }
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
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + idleTime.seconds) { [weak self] in
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

extension Duration {
    /// The duration in seconds.
    fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
