internal import CWebImageGtk4
import GtkWebImage
import GtkWebImageWidgets

/// Loads the images of a page again and again while they are on screen, and shows how long that takes.
@MainActor
final class Repetition {
    private static let pause = Duration.seconds(3)

    /// Loads at once, and turns the repetition off.
    private(set) var controls: [Widget] = []
    let axis: TimeAxis
    private let pictures: [Picture]
    private let load: (TimeAxis) -> Void
    private var repeats = true
    private var next: Task<Void, Never>?

    /// - Parameters:
    ///   - seconds: How long the loads take at most.
    ///   - load: Loads all images, and may mark what happens.
    init(of pictures: [Picture], seconds: Int, load: @escaping (TimeAxis) -> Void) {
        (self.pictures, self.load, axis) = (pictures, load, TimeAxis(seconds: seconds))
        controls = [
            button(icon: "view-refresh-symbolic", tr("Reload")) { [weak self] in self?.start() },
            checkButton(tr("Repeat"), isOn: true) { [weak self] isOn in
                self?.repeats = isOn
                self?.update()
            },
        ]
        for picture in pictures {
            follow(picture.imageProgress) { [weak self] _ in self?.update() }
            connect(OpaquePointer(picture.widget), "map") { [weak self] in self?.update() }
        }
        start()
    }

    deinit { next?.cancel() }

    func start() {
        next?.cancel()
        axis.begin()
        load(axis)
    }

    /// Ends the time when all images are there, and loads them again after a pause.
    private func update() {
        next?.cancel()
        let haveEnded = pictures.allSatisfy { picture in
            switch picture.imageProgress.state {
            case .shown, .failed: picture.isAtRest
            default: false
            }
        }
        guard haveEnded else { return }
        axis.end()
        guard repeats else { return }
        next = Task { [weak self] in
            guard (try? await Task.sleep(for: Self.pause)) != nil, let self else { return }
            // A page that is not on screen rests.
            if let picture = pictures.first, gtk_widget_get_mapped(picture.widget) != 0 { start() }
        }
    }
}
