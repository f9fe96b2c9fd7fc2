internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// Tries failed images of a list again while they are on screen, first after half a second, then less and less often. An image that
/// the server does not have is not asked for again.
@MainActor
final class WallHealer {
    private static let firstPause = Duration.milliseconds(500)
    private static let longestPause = Duration.seconds(4)

    private let pictures: PictureSet
    private var observation: ObservationToken?
    private var task: Task<Void, Never>?

    init(_ pictures: PictureSet) {
        self.pictures = pictures
        observation = ImageManager.shared.observe { [weak self] event in
            guard case .failed = event.kind else { return }
            Task { @MainActor in self?.start() }
        }
    }

    deinit {
        task?.cancel()
    }

    /// Looks for failed images on screen, until there are none.
    func start() {
        guard task == nil else { return }
        task = Task { [weak self] in
            var pause = Self.firstPause
            while (try? await Task.sleep(for: pause)) != nil, self?.retry() == true {
                pause = min(pause * 2, Self.longestPause)
            }
            self?.task = nil
        }
    }

    /// - Returns: Whether there are images on screen that may still appear.
    private func retry() -> Bool {
        let shown = pictures.all.filter { gtk_widget_get_mapped($0.widget) != 0 && $0.currentImage == nil }
        var isPending = false
        for picture in shown {
            guard case .failed(let error) = picture.imageProgress.state else {
                isPending = true
                continue
            }
            guard error.httpStatus != 404, var request = picture.imageBinding.request else { continue }
            isPending = true
            request.rememberedFailure = .ignored
            picture.setImage(with: request, options: BindingOptions(whileLoading: .currentImage))
        }
        return isPending
    }
}

/// The widgets of all cells of a list that exist.
@MainActor
final class PictureSet {
    private var addresses: Set<UnsafeMutableRawPointer> = []

    var all: [WidgetPointer] { addresses.map { WidgetPointer($0) } }

    func insert(_ picture: WidgetPointer) {
        let address = picture.nativeWidgetPointer
        addresses.insert(address)
        connect(OpaquePointer(address), "destroy") { [weak self] in self?.addresses.remove(address) }
    }
}
