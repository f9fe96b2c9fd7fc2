import Synchronization

/// Beside stage 6, on the I/O queue: writes accepted entries to the disk caches when the decode queue is idle, or once too many
/// bytes wait. What is on its way to the screen needs the processor more.
final class DiskWriter: Sendable {
    private enum Phase: Equatable {
        case idle
        /// A turn of the decode queue is awaited.
        case waiting
        case writing
    }

    private struct State {
        var phase = Phase.idle
        /// Whether something was accepted while a thread was writing.
        var hasMore = false
    }

    private let caches: [any DataCaching]
    private let ioQueue: WorkQueue
    private let decodeQueue: WorkQueue
    private let state = Mutex(State())

    init(_ dependencies: Pipeline.Dependencies) {
        caches = [dependencies.renditionCache, dependencies.dataCache].compactMap { $0 }
        ioQueue = dependencies.ioQueue
        decodeQueue = dependencies.decodeQueue
    }

    /// Schedules the writing of accepted entries. Called after an entry was stored; it does not block.
    func schedule() {
        let isUrgent = isUrgent
        let phase = state.withLock { state in
            let phase = state.phase
            switch phase {
            case .idle: state.phase = isUrgent ? .writing : .waiting
            case .waiting: if isUrgent { state.phase = .writing }
            case .writing: state.hasMore = true
            }
            return phase
        }
        guard phase != .writing else { return }
        if isUrgent { submitWriting() } else if phase == .idle { awaitTurn() }
    }

    /// Whether entries are written although there is other work. What a cache of an app holds back is not known.
    private var isUrgent: Bool { caches.contains { ($0 as? DiskCache)?.isWritingUrgent ?? true } }

    /// Writes once the decode queue has nothing that is more urgent. The I/O queue does it: a slow disk must not occupy the
    /// threads that decode.
    private func awaitTurn() {
        decodeQueue.submit(priority: .veryLow) { [self] in
            let isOwn = state.withLock { state in
                // Writing has become urgent in the meantime.
                guard state.phase == .waiting else { return false }
                state.phase = .writing
                return true
            }
            if isOwn { submitWriting() }
        }
    }

    private func submitWriting() {
        ioQueue.submit(priority: .veryLow) { self.write() }
    }

    private func write() {
        let isUnfinished = caches.map { cache in
            guard let cache = cache as? DiskCache else {
                cache.flush()
                return false
            }
            return cache.flush { !cache.isWritingUrgent && decodeQueue.pendingCount > 0 }
        }
        let isUrgent = isUrgent
        let phase = state.withLock { state in
            let hasMore = exchange(&state.hasMore, with: false) || isUnfinished.contains(true)
            state.phase = hasMore ? isUrgent ? .writing : .waiting : .idle
            return state.phase
        }
        switch phase {
        case .idle: break
        case .waiting: awaitTurn()
        case .writing: submitWriting()
        }
    }
}
