import FoundationEssentials
import Synchronization
import WebImageCore

/// Shows the placeholders of one slot, and loads those given by a URL.
@MainActor
final class PlaceholderPresenter {
    private let target: any SlotTarget
    /// The placeholder on display that is given by a URL, until it has loaded or failed.
    private var missing: (url: URL, manager: ImageManager)?
    /// The load of the newest placeholder, cancelled from the slot's `deinit` on any thread.
    private nonisolated let task = Mutex<ImageTask?>(nil)

    init(_ target: any SlotTarget) {
        self.target = target
    }

    /// Shows a placeholder. A placeholder given by a URL waits for ``load(at:)``.
    func show(_ placeholder: ImagePlaceholder?, _ manager: @autoclosure () -> ImageManager, keepsPreview: Bool = false)
    {
        cancel()
        guard target.attach() else { return }
        target.content?.show(placeholder, keepsPreview: keepsPreview)
        target.changed()
        if case .url(let url) = placeholder?.kind { missing = (url, manager()) }
    }

    /// Whether a placeholder waits for its load.
    var isWaiting: Bool { missing != nil && task.withLock { $0 == nil } }

    /// Cancels the load of the placeholder. A placeholder on display stays.
    func cancel() {
        if missing.take() != nil { cancelLoad() }
    }

    /// Cancels the load of the placeholder, which then waits again.
    nonisolated func cancelLoad() {
        task.withLock { $0.take() }?.cancel()
    }

    /// Loads the waiting placeholder.
    /// - Parameter decodeSize: The size of the widget.
    func load(at decodeSize: DecodeSize) {
        guard isWaiting, let (url, manager) = missing else { return }
        var request = ImageRequest(url: url, priority: .veryHigh, decodeSize: decodeSize)
        request.acceptsLarger = true
        request.preparation = TexturePreparation()
        let task = manager.makeTask(
            for: request,
            handlers: .mainActor { [weak self] result in
                // A cancelled task neither succeeds nor fails, so this is the newest placeholder.
                if case .failure(let error) = result, error.isCancelled { return }
                guard let self else { return }
                self.task.withLock { $0 = nil }
                self.missing = nil
                if case .success(let response) = result { self.show(response.image) }
            }
        )
        self.task.withLock { $0 = task }
        task.start()
    }

    private func show(_ image: WebImage) {
        guard target.image == nil, target.attach() else { return }
        target.content?.show(placeholder: image)
        target.changed()
    }
}
