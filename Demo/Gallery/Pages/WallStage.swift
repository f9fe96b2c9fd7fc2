internal import CWebImageGtk4
import Foundation
import GtkWebImage

/// The page of the wall: the wall, and below it what is known of its images and a button that flings it.
@MainActor
final class WallStage {
    /// The seconds of a fling that the button starts.
    private static let flingTime = 20.0

    let wall: ImageWall
    private let context: PageContext
    private let owned: OwnedWidget
    private let summary = label("", "caption", "numeric")
    private let button = gtk_button_new()!
    private var signatures: ImageSignatures?
    private var fling: Fling?
    /// Flings the wall, from its preparation to its end.
    private var work: Task<FlingResult?, Never>?
    /// Whether a fling begins once it is known what the images look like.
    private var isPreparing = false { didSet { updateButton() } }

    init(_ context: PageContext) {
        self.context = context
        wall = ImageWall(urls: context.source.urls, requested: context.requestedURLs)
        gtk_widget_set_vexpand(wall.grid.widget, 1)
        gtk_widget_set_hexpand(summary, 1)
        gtk_widget_set_margin_start(summary, 12)
        gtk_widget_set_margin_end(button, 12)
        for side in [gtk_widget_set_margin_top, gtk_widget_set_margin_bottom] { side(button, 6) }
        let bar = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [summary, button])
        owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL, spacing: 0, [wall.grid.widget, bar]))
        connect(OpaquePointer(button), "clicked") { [weak self] in
            guard let self else { return }
            if work == nil { start(seconds: Self.flingTime) } else { stop() }
        }
        connect(OpaquePointer(widget), "unmap") { [weak self] in self?.stop() }
        updateButton()
        show(nil)
    }

    var widget: Widget { owned.widget }

    /// Whether all images in view are loaded or have failed. They are not while the wall is flung.
    var isAtRest: Bool { work == nil && wall.isAtRest }

    /// Flings the wall and shows the result.
    /// - Returns: The task of the fling, whose value is `nil` when the fling was stopped.
    @discardableResult
    func start(seconds: Double) -> Task<FlingResult?, Never> {
        let work = Task {
            let result = await measure(seconds)
            self.work = nil
            updateButton()
            if let result { show(result) }
            return result
        }
        self.work = work
        updateButton()
        return work
    }

    private func measure(_ seconds: Double) async -> FlingResult? {
        if signatures == nil, let server = context.source as? ImageServer {
            // They take some seconds, in which the page may be left.
            isPreparing = true
            signatures = await ImageSignatures(folder: server.folder, names: server.names)
            isPreparing = false
            guard signatures != nil else { return nil }
        }
        guard !Task.isCancelled else { return nil }
        let inspector = CellInspector(wall, signatures: signatures)
        let counts = LoadCounts()
        let observation = ImageManager.shared.observe { counts.add($0.kind) }
        let fling = Fling(wall.grid, FlingMotion(duration: seconds)) { inspector.look() }
        self.fling = fling
        defer { self.fling = nil }
        let times = await fling.run()
        return withExtendedLifetime(observation) {
            times.map {
                FlingResult(imageCount: wall.urls.count, times: $0, cells: inspector.figures, loads: counts.all)
            }
        }
    }

    private func stop() {
        work?.cancel()
        fling?.stop()
    }

    private func show(_ result: FlingResult?) {
        let count = tr("%1 image", plural: "%1 images", count: wall.urls.count)
        setText(summary, [count, result?.summary].compactMap(\.self).joined(separator: ", "))
    }

    private func updateButton() {
        let text = isPreparing ? tr("Preparing…") : work != nil ? tr("Stop") : tr("Fling")
        gtk_button_set_label(cast(OpaquePointer(button)), text)
        gtk_widget_set_tooltip_text(
            button,
            work != nil ? tr("Stop the fling") : tr("Fling the wall for 20 seconds")
        )
    }
}
