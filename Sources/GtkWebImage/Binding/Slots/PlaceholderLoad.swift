import FoundationEssentials
import WebImageCore

/// The load of a placeholder given by a URL, which is shown like other placeholders once it has loaded. It waits until the
/// widget has a size, and is cancelled when this object is released.
@MainActor
final class PlaceholderLoad {
    private let url: URL
    private let manager: ImageManager
    private let target: any SlotTarget
    private var task: ImageTask?
    private var hasEnded = false

    init(_ url: URL, _ manager: ImageManager, for target: any SlotTarget) {
        (self.url, self.manager, self.target) = (url, manager, target)
    }

    deinit {
        task?.cancel()
    }

    /// Whether the placeholder waits for its load.
    var isWaiting: Bool { task == nil && !hasEnded }

    /// Cancels the load, which then waits again.
    func stop() {
        task.take()?.cancel()
    }

    /// Starts the load if it waits.
    /// - Parameter decodeSize: The size of the widget.
    func start(at decodeSize: DecodeSize) {
        guard isWaiting else { return }
        var request = ImageRequest(url: url, priority: .veryHigh, decodeSize: decodeSize)
        request.acceptsLarger = true
        request.preparation = TexturePreparation()
        let task = manager.makeTask(
            for: request,
            handlers: .mainActor { [weak self] result in
                // After stop(), `task` may already be the next one.
                if case .failure(let error) = result, error.isCancelled { return }
                guard let self else { return }
                (self.task, hasEnded) = (nil, true)
                guard case .success(let response) = result, target.image == nil, target.attach() else { return }
                target.content?.show(placeholder: response.image)
                target.changed()
            }
        )
        self.task = task
        task.start()
    }
}
