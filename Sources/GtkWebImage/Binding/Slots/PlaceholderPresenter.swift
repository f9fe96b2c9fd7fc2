import FoundationEssentials
import Synchronization
import WebImageCore

/// Shows the placeholders of one slot, and loads those that are images themselves.
@MainActor
final class PlaceholderPresenter {
    private let target: any SlotTarget
    /// The load of the newest placeholder, cancelled from the slot's `deinit` on any thread.
    private nonisolated let task = Mutex<ImageTask?>(nil)

    init(_ target: any SlotTarget) {
        self.target = target
    }

    func show(_ placeholder: Placeholder?, _ manager: ImageManager, decodeSize: DecodeSize?) {
        cancel()
        guard target.attach() else { return }
        target.content?.show(placeholder)
        target.changed()
        if case .url(let url) = placeholder?.kind { load(url, with: manager, decodeSize ?? .original) }
    }

    /// Cancels the load of the placeholder. One on display stays.
    nonisolated func cancel() {
        task.withLock { $0.take() }?.cancel()
    }

    private func load(_ url: URL, with manager: ImageManager, _ decodeSize: DecodeSize) {
        var request = ImageRequest(url: url, priority: .veryHigh, decodeSize: decodeSize)
        request.acceptsLarger = true
        request.preparation = TexturePreparation()
        let task = manager.makeTask(
            for: request,
            handlers: .mainActor(progress: nil, partial: nil) { [weak self] result in
                // A cancelled task never succeeds, so this is the newest placeholder.
                guard let self, case .success(let response) = result else { return }
                self.task.withLock { $0 = nil }
                self.show(response.image)
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
