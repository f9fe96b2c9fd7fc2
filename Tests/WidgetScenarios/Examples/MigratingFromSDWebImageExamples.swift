internal import CWebImageGtk4
import Dispatch
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of MigratingFromSDWebImage.md, compiled. What they do not declare is a parameter here.

struct Photo {
    let url: URL
    let authorURL: URL
    let nextURLs: [URL]
}

@MainActor
final class PhotoScreen {
    let avatarView = Picture()
    let photoView = Picture()
    let statusLabel: OpaquePointer

    init(statusLabel: OpaquePointer) {
        self.statusLabel = statusLabel
        avatarView.imageTransition = .crossfade()
        photoView.imageIndicator = .progress
        photoView.contentFit = .contain
    }

    func show(_ photo: Photo) {
        avatarView.setImage(
            with: ImageRequest(url: photo.authorURL, transformer: .circle()),
            placeholder: .icon("avatar-default-symbolic")
        )
        photoView.setImage(
            with: ImageRequest(url: photo.url, loading: .progressive, rememberedFailure: .ignored),
            progress: { [statusLabel] received, expected in
                gtk_label_set_text(statusLabel, "\(received) of \(expected ?? 0) bytes")
            },
            completion: { [statusLabel] result in
                switch result {
                case .success(let response): gtk_label_set_text(statusLabel, "\(response.image.naturalSize)")
                case .failure(let error) where error.isCancelled: break
                case .failure: gtk_label_set_text(statusLabel, "The image could not be loaded.")
                }
            }
        )
        ImagePrefetcher.shared.prefetch(photo.nextURLs)
    }
}

struct QueueDispatcher: CallbackDispatching {
    let queue: DispatchQueue
    var isCurrent: Bool { false }

    func dispatch(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }
}

private func load(_ request: ImageRequest, manager: ImageManager, queue: DispatchQueue) {
    manager.load(request, on: QueueDispatcher(queue: queue)) { result in print(result) }
}
