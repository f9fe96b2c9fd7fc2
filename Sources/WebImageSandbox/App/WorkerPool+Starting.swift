import Synchronization
import WebImageCore

// Starts workers, and ends those that are idle.
extension WorkerPool {
    /// Starts workers before they are needed.
    func prepare() {
        var taken: [DecodeWorker] = []
        // If no more processes can be started, take() would return one of these workers again.
        while taken.count < limit, state.withLock({ $0.count < limit }),
            let worker = (try? take(isCancelled: { !taken.isEmpty })) ?? nil
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

    /// Starts a worker for a thread, which uses it.
    /// - Parameter isShort: Set if the system could not start another worker.
    func start(isShort: inout Bool) -> DecodeWorker? {
        let start = zygote.makeWorker()
        if case .busy = start { isShort = true }
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

    /// Records a start that was killed, as the kernel does if memory is short.
    func noteKilledStart() {
        state.withLock { $0.killedSince = $0.killedSince ?? .now }
        noteFailedStart("Workers are killed as they start", isShortage: true, mayRepeat: false)
    }

    /// - Parameters:
    ///   - isShortage: Whether the next start is likely to succeed.
    ///   - mayRepeat: Whether further starts may be tried at once.
    func noteFailedStart(_ reason: String, isShortage: Bool = false, mayRepeat: Bool = true) {
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

    /// Ends idle workers.
    func endIdleWorkers(idleFor time: Duration = .zero) {
        let limit = ContinuousClock.now - time
        endWorkers { $0.since <= limit }
        zygote.endIfUnused()
    }

    func endWorkers(where isEnding: (Idle) -> Bool) {
        let ended = state.withLock { state in
            let ended = state.idle.filter(isEnding)
            if !ended.isEmpty { state.idle.removeAll { idle in ended.contains { $0.worker === idle.worker } } }
            return ended
        }
        for idle in ended { idle.worker.end() }
    }

    func reapLater(after delay: Duration) {
        let isFirst = state.withLock { state in
            defer { state.isReaping = true }
            return !state.isReaping
        }
        guard isFirst else { return }
        SystemClock().run(after: delay) { [weak self] in
            guard let self else { return }
            endIdleWorkers(idleFor: Self.idleTime)
            let first = state.withLock { state in
                state.isReaping = false
                return state.idle.first?.since
            }
            if let first { reapLater(after: first + Self.idleTime - .now) }
        }
    }

    /// The number of consecutive failed starts after which the next one is tried after a pause.
    private static let mostFailedStarts = 3
    /// The time after which an idle worker ends.
    static let idleTime = Duration.seconds(60)
    private static let longestPause = Duration.seconds(3600)
    private static let shortagePause = Duration.seconds(1)
}
