import Synchronization

/// Says in the log that code waits for the image of a widget that is in no window on screen, where it could wait for ever without
/// a word.
///
/// A widget that is not mapped although its window is, such as one on a page of a GtkStack that is not shown yet, is no mistake.
final class AwaitedTasks: Sendable {
    private struct WeakTask: Sendable {
        /// Tells tasks apart without owning one under the lock.
        let id: ObjectIdentifier
        weak var task: ImageTask?
    }

    private struct State {
        /// The tasks that the timer is for.
        var timed: [WeakTask] = []
        /// Those that have come since it was started.
        var later: [WeakTask] = []
    }

    private static let delay = Duration.seconds(5)
    /// The number of URLs in one message.
    private static let maximumNamed = 5
    /// The number of tasks that are looked at. Whoever makes the mistake more often learns of it from these.
    private static let maximumCount = 100

    private let clock: any TimeKeeping
    private let dispatcher: any CallbackDispatching
    private let state = Mutex(State())

    init(clock: any TimeKeeping, dispatcher: any CallbackDispatching) {
        self.clock = clock
        self.dispatcher = dispatcher
    }

    func add(_ task: ImageTask) {
        let entry = WeakTask(id: ObjectIdentifier(task), task: task)
        let startsTimer = state.withLock { state in
            let isKnown = state.timed.contains { $0.id == entry.id } || state.later.contains { $0.id == entry.id }
            guard !isKnown, state.later.count < Self.maximumCount else { return false }
            guard state.timed.isEmpty else {
                state.later.append(entry)
                return false
            }
            state.timed = [entry]
            return true
        }
        if startsTimer { startTimer() }
    }

    private func startTimer() {
        clock.run(after: Self.delay) { [weak self] in
            guard let self else { return }
            let (tasks, isFollowed) = state.withLock { state in
                let tasks = state.timed
                (state.timed, state.later) = (state.later, [])
                return (tasks, !state.timed.isEmpty)
            }
            if isFollowed { startTimer() }
            dispatcher.dispatch { MainActor.assumeIsolated { Self.report(tasks) } }
        }
    }

    @MainActor
    private static func report(_ tasks: [WeakTask]) {
        let urls = tasks.compactMap(\.task).filter(\.isOutsideOfWindows).map { "<\($0.request.url.textForMessages)>" }
        guard !urls.isEmpty else { return }
        var seen: [String] = []
        for url in urls where !seen.contains(url) { seen.append(url) }
        let more = seen.count > maximumNamed ? " and \(seen.count - maximumNamed) more" : ""
        WebImageLog.mistake(
            "Code has been waiting for at least 5 seconds for images of widgets that are in no window on screen: "
                + seen.prefix(maximumNamed).joined(separator: ", ") + more
                + ". Show the widgets in a window that is presented, set BindingOptions.start to .immediately, or load the "
                + "images with ImageManager.image(for:)."
        )
    }
}
