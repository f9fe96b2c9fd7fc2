internal import CWebImageGtk4
internal import CWebImageSandboxShims
import FoundationEssentials
import GtkWebImage

/// The page of the comparison: two walls of the same images, which load at once when the page is opened, and one sentence.
@MainActor
final class CompareStage {
    private let owned: OwnedWidget
    private let library: CompareSide
    private let plain: CompareSide
    private let result = label("", "title-4")
    private let again = gtk_button_new_from_icon_name("view-refresh-symbolic")!
    private var loop: FrameLoop?
    private var lastFrame: Int64 = 0
    private var frameCount = 0
    private var hasRun = false
    /// The milliseconds after which a frame is not late: the window was hidden or the computer slept.
    private static let longestFrame = 2000.0

    init(_ library: CompareSide, _ plain: CompareSide) {
        (self.library, self.plain) = (library, plain)
        let walls = box(GTK_ORIENTATION_HORIZONTAL, [library.widget, plain.widget])
        gtk_box_set_homogeneous(cast(OpaquePointer(walls)), 1)
        gtk_widget_set_hexpand(result, 1)
        nameIcon(again, tr("Run again"))
        gtk_widget_set_valign(again, GTK_ALIGN_CENTER)
        let bottom = box(GTK_ORIENTATION_HORIZONTAL, [result, again])
        let column = box(GTK_ORIENTATION_VERTICAL, [walls, bottom])
        for set in [gtk_widget_set_margin_bottom, gtk_widget_set_margin_start, gtk_widget_set_margin_end] {
            set(column, 12)
        }
        // A low window scrolls what does not fit.
        let scrolled = gtk_scrolled_window_new()!
        gtk_scrolled_window_set_policy(OpaquePointer(scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), column)
        owned = OwnedWidget(scrolled)
        connect(OpaquePointer(again), "clicked") { [weak self] in self?.start() }
        connect(OpaquePointer(widget), "map") { [weak self] in
            if self?.hasRun == false { self?.start() }
        }
        connect(OpaquePointer(widget), "unmap") { [weak self] in
            guard let self, loop != nil else { return }
            end()
            hasRun = false
        }
    }

    var widget: Widget { owned.widget }

    /// Whether both sides have all images.
    var isAtRest: Bool { hasRun && loop == nil }

    private func start() {
        hasRun = true
        setText(result, tr("%1 images come over a slow line to each side …", library.imageCount))
        do {
            for side in [library, plain] { try side.start { [weak self] in self?.finishWithoutFrames() } }
        } catch {
            end()
            return setText(result, "\(error)")
        }
        gtk_widget_set_sensitive(again, 0)
        lastFrame = 0
        loop = FrameLoop(widget) { _ in
        } painted: { [weak self] in
            self?.measure(at: $0)
        }
    }

    /// - Parameter time: The time of a frame in microseconds.
    private func measure(at time: Int64) {
        guard let left = library.run, let right = plain.run else { return }
        let milliseconds = Double(time - lastFrame) / 1000
        lastFrame = time
        // A frame after images of both sides does not tell which of them it waited for.
        let isOfBoth = left.countsFrames && right.countsFrames
        for run in [left, right] { run.addFrame(isOfBoth || milliseconds > Self.longestFrame ? nil : milliseconds) }
        frameCount += 1
        if left.isDone, right.isDone {
            finish(left, right)
        } else if frameCount.isMultiple(of: 6) {
            update(left, right)
        }
    }

    private func update(_ left: CompareRun, _ right: CompareRun) {
        // The bar of plain GTK is full when it has all images.
        let full = right.pixelByteCount * right.urls.count / max(right.endedCount, 1)
        for side in [library, plain] { side.update(full: full) }
    }

    /// Ends the run of a hidden window, which has no frames, when both sides have all images.
    private func finishWithoutFrames() {
        guard let left = library.run, let right = plain.run, left.isDone, right.isDone else { return }
        Task {
            try await Task.sleep(for: .seconds(1))
            if library.run === left { finish(left, right) }
        }
    }

    private func finish(_ left: CompareRun, _ right: CompareRun) {
        update(left, right)
        let sizes = [left, right].map { Page.size($0.pixelByteCount) }
        setText(
            result,
            tr("Pixels of %1 images: %2 with the library, %3 without.", left.urls.count, sizes[0], sizes[1])
        )
        end()
    }

    private func end() {
        loop?.stop()
        loop = nil
        gtk_widget_set_sensitive(again, 1)
        plain.freeze()
        for side in [library, plain] { side.stop() }
        Task {
            // The next frame lets go of the textures.
            try await Task.sleep(for: .milliseconds(500))
            gwi_malloc_trim()
        }
    }
}
