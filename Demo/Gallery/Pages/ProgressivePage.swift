internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let progressive = Page(
        id: "progressive",
        title: tr("Progressive loading"),
        summary: tr(
            "The same file over the same slow connection. The left image appears as it arrives, the right one only when it is complete."
        ),
        code: """
            picture.imageIndicator = .progress
            picture.setImage(with: ImageRequest(url: url, loading: .progressive, decodeSize: .original), partial: count)
            """
    ) { context in
        let show = ProgressiveShow { context.slow($0, rate: $1) }
        let choice = dropDown(["JPEG", "PNG", "WebP", "GIF"]) { show.choose($0) }
        setName(choice, tr("Format"))
        let again = button(icon: "view-refresh-symbolic", tr("Reload")) { show.load() }
        let repeating = checkButton(tr("Repeat"), isOn: true) { show.repeats = $0 }
        let pictures = flow([show.left.cell, show.right.cell], columns: 2)
        show.load()
        return PageContent(
            box(
                GTK_ORIENTATION_VERTICAL,
                [controls([choice, show.rate.widget, again, repeating]), pictures]
            ),
            waitsFor: [show.left.picture, show.right.picture],
            owner: show
        )
    }

    @MainActor
    fileprivate static func show(
        _ picture: Picture,
        _ url: URL,
        count: @escaping @MainActor @Sendable (WebImage) -> Void
    ) {
        picture.imageIndicator = .progress
        picture.setImage(with: ImageRequest(url: url, loading: .progressive, decodeSize: .original), partial: count)
    }
}

/// A file that loads twice at a time, again and again.
@MainActor
private final class ProgressiveShow {
    /// A GtkPicture and what is said about its load.
    @MainActor
    final class Place {
        let picture = Picture()
        let cell: Widget
        private let caption: Widget
        private let title: String
        private var count = 0

        init(_ title: String) {
            self.title = title
            gtk_widget_set_size_request(picture.widget, 300, 220)
            picture.imageIndicator = .progress
            caption = label(title, "caption", "numeric")
            cell = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(picture.widget), caption])
            clear()
        }

        func clear() {
            count = 0
            setText(caption, tr("%1, partial images: %2", title, 0))
        }

        func addPartialImage() {
            count += 1
            setText(caption, tr("%1, partial images: %2", title, count))
        }
    }

    private static let names = ["balloons.jpg", "stained-glass.png", "mushroom.webp", "truchet-tiles.gif"]
    private static let pause = Duration.seconds(3)

    let left = Place(tr("progressive"))
    let right = Place(tr("complete"))
    let rate = Slider(tr("Speed"), 12...100, step: 1) { "\(Int($0)) kB/s" }
    var repeats = true { didSet { scheduleNext() } }
    private let url: (_ name: String, _ rate: Int) -> URL
    private var name = names[0]
    private var next: Task<Void, Never>?

    init(_ url: @escaping (_ name: String, _ rate: Int) -> URL) {
        self.url = url
        rate.value = 25
        rate.onChange = { [weak self] _ in self?.load() }
        follow(right.picture.imageProgress) { [weak self] _ in self?.scheduleNext() }
    }

    deinit {
        next?.cancel()
    }

    func choose(_ number: Int) {
        name = Self.names[number]
        load()
    }

    func load() {
        next?.cancel()
        left.clear()
        right.clear()
        Page.show(left.picture, url(name, Int(rate.value))) { [left] _ in left.addPartialImage() }
        let request = ImageRequest(url: url(name, Int(rate.value)), decodeSize: .original)
        right.picture.setImage(with: request, partial: { [right] _ in right.addPartialImage() })
    }

    /// Loads the file again after a pause when it has been shown.
    private func scheduleNext() {
        next?.cancel()
        guard repeats, case .shown = right.picture.imageProgress.state else { return }
        next = Task { [weak self] in
            guard (try? await Task.sleep(for: Self.pause)) != nil, let self else { return }
            // A page that is not on screen rests.
            if gtk_widget_get_mapped(right.picture.widget) != 0 { load() }
        }
    }
}
