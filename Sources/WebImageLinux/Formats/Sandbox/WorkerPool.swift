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
        /// The worker that it wanted has ended, or none can be started.
        case none
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

    /// Whether workers can be started, as far as is known.
    var canStart: Bool { state.withLock { $0.failedStarts < Self.mostFailedStarts } }

    /// The processes that run.
    var processes: [pid_t] { state.withLock { Array($0.processes.values) } }

    /// Starts workers before they are needed.
    func prepare() {
        var taken: [DecodeWorker] = []
        while taken.count < limit, state.withLock({ $0.count < limit }), let worker = take() {
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
    /// - Parameter number: The one that knows a file; otherwise any.
    /// - Returns: `nil` when that one has ended, or when none can be started.
    func take(_ number: UInt64? = nil) -> DecodeWorker? {
        let (turn, box) = state.withLock { state -> (Turn?, TurnBox?) in
            if let number {
                if let index = state.idle.firstIndex(where: { $0.worker.number == number }) {
                    state.busy.insert(number)
                    return (.worker(state.idle.remove(at: index).worker), nil)
                }
                guard state.busy.contains(number) else { return (Turn.none, nil) }
            } else {
                guard state.failedStarts < Self.mostFailedStarts else { return (Turn.none, nil) }
                if let last = state.idle.popLast() {
                    state.busy.insert(last.worker.number)
                    return (.worker(last.worker), nil)
                }
                if state.count < limit {
                    state.count += 1
                    return (.start, nil)
                }
            }
            let box = TurnBox()
            state.waiters.append(Waiter(number: number, turn: box))
            return (nil, box)
        }
        if let box { box.semaphore.wait() }
        switch turn ?? box?.turn.withLock({ $0 }) ?? .none {
        case .worker(let worker): return worker
        case .start: return start()
        case .none: return nil
        }
    }

    private func start() -> DecodeWorker? {
        let number = state.withLock { state in
            state.serial += 1
            return state.serial
        }
        if let worker = DecodeWorker(zygote, kind, number: number) {
            state.withLock { state in
                state.busy.insert(number)
                state.processes[number] = worker.process
            }
            return worker
        }
        if zygote.useNextProgram() { return start() }
        noteFailedStart("The system starts no process")
        return nil
    }

    /// Gives back a worker.
    /// - Parameter isAlive: Whether it may be used again; otherwise it ends.
    func giveBack(_ worker: DecodeWorker, isAlive: Bool) {
        guard isAlive, !worker.isWornOut else {
            worker.end()
            if worker.fence == nil, !zygote.useNextProgram() { return noteFailedStart(worker.obstacle, worker.number) }
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
            if state.failedStarts >= Self.mostFailedStarts, state.count == 0 {
                gone += state.waiters
                state.waiters = []
            }
            guard let index = state.waiters.firstIndex(where: { $0.number == nil }) else { return (gone, nil) }
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
            defer { state.status = status }
            return state.status != status
        }
        if isNew { status.log() }
    }

    private func noteFailedStart(_ reason: String, _ number: UInt64? = nil) {
        let isLast = state.withLock { state in
            state.failedStarts += 1
            guard state.failedStarts == Self.mostFailedStarts else { return false }
            state.status = .unavailable(reason)
            return true
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

    /// After so many starts in a row have failed, no more are tried.
    private static let mostFailedStarts = 3
}

extension Duration {
    /// The duration in seconds.
    fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
