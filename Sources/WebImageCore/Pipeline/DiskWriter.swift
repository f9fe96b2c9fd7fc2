import Synchronization

/// Beside stage 6, on the I/O queue: writes what the disk caches have accepted while nothing is to be decoded, or once too much
/// waits. What is on its way to the screen needs the processor more.
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

    /// Has accepted entries written. Called after an entry was stored; it does not block.
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

    private var isUrgent: Bool { caches.contains { ($0 as? DiskCache)?.isWritingUrgent == true } }

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
        let phase = state.withLock { state in
            state.phase = isUnfinished.contains(true) || state.hasMore ? .waiting : .idle
            state.hasMore = false
            return state.phase
        }
        if phase == .waiting { awaitTurn() }
    }
}
