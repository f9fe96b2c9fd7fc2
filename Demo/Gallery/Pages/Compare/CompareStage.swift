internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// The page of the comparison: two walls of the same images, and a button that scrolls one after the other.
@MainActor
final class CompareStage {
    /// The seconds that the way takes at sixty frames a second.
    private static let flingTime = 6.0
    /// The speed of a finger in a hurry, in application pixels a second. The list of GTK 4.8 has a hundred cells, which are not used
    /// again before the wall has been scrolled past them.
    private static let speed = 12_000.0

    private let owned: OwnedWidget
    private let sides: [CompareSide]
    private let button = gtk_button_new()!
    private var fling: Fling?
    private var isScrolling = false
    private var isStopped = false
    private var follower: Task<Void, Never>?

    init(_ sides: [CompareSide]) {
        self.sides = sides
        // Two columns of cells fit in a narrow window with little around them.
        let walls = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, sides.map(\.widget))
        gtk_box_set_homogeneous(cast(OpaquePointer(walls)), 1)
        gtk_widget_set_vexpand(walls, 1)
        gtk_widget_set_halign(button, GTK_ALIGN_CENTER)
        owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL, spacing: 6, [walls, button]))
        for side in [gtk_widget_set_margin_bottom, gtk_widget_set_margin_start, gtk_widget_set_margin_end] {
            side(widget, 6)
        }
        connect(OpaquePointer(button), "clicked") { [weak self] in self?.scrollOrStop() }
        connect(OpaquePointer(widget), "map") { [weak self] in self?.follow() }
        connect(OpaquePointer(widget), "unmap") { [weak self] in self?.fling?.stop() }
        for side in sides { side.wall.grid.onScroll { [weak self] in self?.follow() } }
        updateButton()
    }

    deinit { follower?.cancel() }

    var widget: Widget { owned.widget }

    /// Whether nothing is being loaded or scrolled, and the figures say so.
    var isAtRest: Bool { follower == nil && !isScrolling && areWallsAtRest }

    private var areWallsAtRest: Bool { sides.allSatisfy(\.wall.isAtRest) }

    /// Scrolls one side after the other, each once both are at rest, so that neither pays for the frames and the transfers of the
    /// other.
    /// - Returns: Whether both came to their end.
    func scroll(seconds: Double) async -> Bool {
        guard !isScrolling else { return false }
        isScrolling = true
        isStopped = false
        updateButton()
        defer {
            isScrolling = false
            updateButton()
            for side in sides { side.update() }
        }
        for side in sides {
            guard await comeToRest() else { return false }
            var frameCount = 0
            let motion = FlingMotion(duration: seconds, speed: Self.speed)
            // A slow frame makes the way take longer, so that both sides pass the same cells.
            let fling = Fling(side.wall.grid, motion, longestStep: 1.0 / 60) {
                side.look()
                frameCount += 1
                if frameCount.isMultiple(of: 15) { side.update() }
            }
            self.fling = fling
            let times = await fling.run()
            self.fling = nil
            guard let times else { return false }
            side.add(times)
        }
        return true
    }

    /// Waits until neither wall loads anything.
    /// - Returns: Whether that was so before the page was left or the button said to stop.
    private func comeToRest() async -> Bool {
        while !isStopped, gtk_widget_get_mapped(widget) != 0 {
            if areWallsAtRest { return true }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    /// Follows the loads after the page was opened or scrolled, until all have ended.
    private func follow() {
        guard follower == nil else { return }
        follower = Task { [weak self] in
            while let isGoingOn = self?.followOnce(), isGoingOn {
                try? await Task.sleep(for: .milliseconds(250))
                guard !Task.isCancelled else { return }
            }
            self?.follower = nil
        }
    }

    /// - Returns: Whether anything can still change.
    private func followOnce() -> Bool {
        guard gtk_widget_get_mapped(widget) != 0 else { return false }
        for side in sides where fling == nil {
            side.look()
            side.update()
        }
        return isScrolling || !areWallsAtRest
    }

    private func scrollOrStop() {
        guard !isScrolling else {
            isStopped = true
            fling?.stop()
            return
        }
        Task { await scroll(seconds: Self.flingTime) }
    }

    private func updateButton() {
        gtk_button_set_label(cast(OpaquePointer(button)), isScrolling ? tr("Stop") : tr("Scroll both"))
    }
}

extension CompareStage: Flingable {
    func report(flinging seconds: Double) async -> String? {
        guard await scroll(seconds: seconds) else { return nil }
        // What is on its way belongs to the figures.
        while !isAtRest {
            guard gtk_widget_get_mapped(widget) != 0 else { return nil }
            try? await Task.sleep(for: .milliseconds(50))
        }
        let lines = sides.flatMap { side in
            [side.title] + side.figures.rows.map { "\($0.name): \($0.value)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
