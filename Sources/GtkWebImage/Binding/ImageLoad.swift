public import FoundationEssentials
import Synchronization
import WebImageCore
import WebImageLinux

/// The load of an image for a widget, from the call that asked for it to its completion.
///
/// It outlives the widget when it must: its completions are called all the same.
public final class ImageLoad: Sendable {
    /// What wants to hear of the end.
    typealias Completion = @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void

    private struct State {
        var completions: [Completion] = []
        /// Several, for an animation of several images.
        var tasks: [ImageTask] = []
        var priority = ImagePriority.high
        var isCancelled = false
        var isFinished = false
    }

    /// The URL that is loaded.
    public let url: URL?
    private let state = Mutex(State())

    init(_ url: URL?) {
        self.url = url
    }

    /// Whether the completion has been called.
    public var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Ends it with ImageError.Code.cancelled, unless it has ended. The completion is called in a later turn of the
    /// main loop. From any thread.
    public func cancel() {
        let (isFirst, tasks) = state.withLock { state -> (Bool, [ImageTask]) in
            guard !state.isCancelled, !state.isFinished else { return (false, []) }
            state.isCancelled = true
            return (true, state.tasks)
        }
        guard isFirst else { return }
        for task in tasks { task.cancel() }
        // Also when it never got as far as a task, or when the task's own completion goes to a slot that is gone.
        MainLoopDispatcher.shared.dispatch {
            MainActor.assumeIsolated { self.finish(.failure(.cancelled(self.url))) }
        }
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func add(_ completion: @escaping Completion) {
        state.withLock { $0.completions.append(completion) }
    }

    /// Ties it to the task that does the work.
    func attach(_ task: ImageTask) {
        let (isCancelled, priority) = state.withLock { state in
            state.tasks.append(task)
            return (state.isCancelled, state.priority)
        }
        if isCancelled { task.cancel() } else { task.priority = priority }
    }

    /// Breaks off the work, to be begun again with another task. The completions wait.
    func pause() {
        let tasks = state.withLock { state in
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
    }

    func setPriority(_ priority: ImagePriority) {
        let tasks = state.withLock { state in
            state.priority = priority
            return state.tasks
        }
        for task in tasks { task.priority = priority }
    }

    /// Calls the completions, the first time it is called.
    @MainActor
    func finish(_ result: Result<ImageResponse, ImageError>) {
        let completions = state.withLock { state in
            defer { state.completions = [] }
            state.isFinished = true
            state.tasks = []
            return state.completions
        }
        for completion in completions { completion(result) }
    }
}
