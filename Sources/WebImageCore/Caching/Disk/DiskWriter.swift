import Dispatch
import Glibc
import Synchronization

/// Writes accepted entries to the disk caches, on the I/O queue, when the decode queue is idle or once too many bytes are
/// waiting. Images on their way to the screen need the processor more.
final class DiskWriter: Sendable {
    private enum Phase: Equatable {
        case idle
        /// Waits for a turn of the decode queue.
        case waiting
        case writing
    }

    private struct State {
        var phase = Phase.idle
        /// Whether an entry was accepted while a thread was writing.
        var hasMore = false
    }

    private let caches: [any DataCaching]
    private let ioQueue: WorkQueue
    private let decodeQueue: WorkQueue
    private let state = Mutex(State())

    /// - Parameter caches: The caches to write, the most urgent first.
    init(_ caches: [any DataCaching], ioQueue: WorkQueue, decodeQueue: WorkQueue) {
        (self.caches, self.ioQueue, self.decodeQueue) = (caches, ioQueue, decodeQueue)
        Self.living.withLock { living in
            living.removeAll { $0.writer == nil }
            living.append(Weak(writer: self))
        }
    }

    /// Schedules the writing of accepted entries. Called after an entry was stored; it does not block.
    func schedule() {
        _ = Self.registration
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

    private var isUrgent: Bool { caches.contains { $0.isUrgent } }

    /// Writes once the decode queue has no more urgent work. The writing is left to the I/O queue, because a slow disk
    /// must not occupy the threads that decode.
    private func awaitTurn() {
        decodeQueue.submit(priority: .veryLow) { [self] in
            let isOwn = state.withLock { state in
                // Writing may have become urgent in the meantime.
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
            cache.write { !cache.isUrgent && decodeQueue.pendingCount > 0 }
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

// The exit of the process.
extension DiskWriter {
    private struct Weak: Sendable {
        weak var writer: DiskWriter?
    }

    private static let living = Mutex<[Weak]>([])

    /// How long the process waits for the disk before it exits.
    private static let longestExit = Duration.milliseconds(300)

    /// Registers the handler with the first entry, so that an app that stores nothing has no handler.
    private static let registration: pid_t = {
        atexit { DiskWriter.writeAtExit() }
        return getpid()
    }()

    /// Writes accepted entries at exit, within `longestExit`. Entries that miss this limit are lost and loaded again.
    private static func writeAtExit() {
        // A forked process has the entries but not the threads, which may have held locks.
        guard registration == getpid() else { return }
        let writers = living.withLock { $0.compactMap(\.writer) }.filter { !$0.unwritten.isEmpty }
        guard !writers.isEmpty else { return }
        let end = ContinuousClock.now + longestExit
        let done = DispatchSemaphore(value: 0)
        // This runs on another thread because the disk may hang.
        let code = startDetachedThread {
            for writer in writers { writer.write(until: end) }
            done.signal()
        }
        if code == 0 { _ = done.wait(timeout: .now() + longestExit / .seconds(1)) }
    }

    private var unwritten: [any DataCaching] { caches.filter { $0.hasUnwrittenEntries } }

    private func write(until end: ContinuousClock.Instant) {
        for cache in unwritten { _ = cache.write { ContinuousClock.now >= end } }
    }
}
