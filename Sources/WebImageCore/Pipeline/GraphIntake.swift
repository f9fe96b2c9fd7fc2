import FoundationEssentials
import Synchronization

/// What callers ask of the job graph, in the order in which they have asked.
///
/// A caller is often the main thread in the middle of a frame, so it only adds to a list. One thread makes the changes and carries
/// out their effects: a caller never waits for the lock of the graph, and its cost does not grow with the work under way.
final class GraphIntake: Sendable {
    enum Change: Sendable {
        /// The image of a task is not in memory, so the task joins the job of its image.
        case join(ImageTask)
        case cancel(ImageTask)
        case updatePriority(ImageTask)
    }

    private struct State {
        var changes: [Change] = []
        /// The array of the batch before, whose memory the next one takes.
        var spare: [Change] = []
        /// The changes that are being made.
        var runningCount = 0
        var isScheduled = false
    }

    private let graph: SharedGraph
    private let renditions: RenditionTier
    private let fallback: FallbackStage
    private let delivery: DeliveryStage
    private let queue: WorkQueue
    private let state = Mutex(State())

    init(
        _ dependencies: Pipeline.Dependencies,
        graph: SharedGraph,
        renditions: RenditionTier,
        fallback: FallbackStage,
        delivery: DeliveryStage
    ) {
        queue = dependencies.intakeQueue
        self.graph = graph
        self.renditions = renditions
        self.fallback = fallback
        self.delivery = delivery
    }

    /// The number of changes that are still to be made.
    var pendingCount: Int { state.withLock { $0.changes.count + $0.runningCount } }

    func add(_ change: Change) {
        let isFirst = state.withLock { state in
            state.changes.append(change)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { queue.submit { self.makeChanges() } }
    }

    private func makeChanges() {
        while var batch = takeBatch() {
            for change in batch { make(change) }
            // Tasks are released here, with what their closures hold, and not by the caller of the next change.
            batch.removeAll(keepingCapacity: true)
            state.withLock { $0.spare = batch }
        }
    }

    private func takeBatch() -> [Change]? {
        state.withLock { state in
            state.runningCount = state.changes.count
            guard !state.changes.isEmpty else {
                state.isScheduled = false
                return nil
            }
            let batch = exchange(&state.changes, with: state.spare)
            state.spare = []
            return batch
        }
    }

    private func make(_ change: Change) {
        switch change {
        case .join(let task): join(task)
        case .cancel(let task): graph.update { $0.cancel(task) }
        case .updatePriority(let task): graph.update { $0.updatePriority(of: task) }
        }
    }

    private func join(_ task: ImageTask) {
        let request = task.request
        guard !request.url.absoluteString.isEmpty else {
            delivery.deliver(.failure(.invalidURL(request.url, "The URL is empty")), to: task)
            return
        }
        fallback.startPreview(for: task)
        // A cancelled task has left already; one that is cancelled from here on leaves with a later change.
        guard !task.isCancelled else { return }
        let queriesRenditions = request.readTiers.contains(.renditions) && renditions.isUsed(by: request)
        graph.update { $0.join(task, queriesRenditions: queriesRenditions) }
    }
}
