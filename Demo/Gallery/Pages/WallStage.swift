internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// The page of the wall: the wall, its figures, and a button that flings it.
@MainActor
final class WallStage {
    /// The seconds of a fling that the button starts.
    private static let flingTime = 20.0

    let wall: ImageWall
    private let context: PageContext
    private let counters: LoadCounters
    private let owned: OwnedWidget
    private let stack = OpaquePointer(gtk_stack_new()!)
    private let button = gtk_button_new()!
    private var signatures: ImageSignatures?
    private var fling: Fling?
    /// Flings the wall, from its preparation to its end.
    private var work: Task<FlingResult?, Never>?

    init(_ context: PageContext) {
        self.context = context
        wall = ImageWall(urls: context.source.urls, requested: context.requestedURLs)
        counters = LoadCounters(wall.counts)
        gtk_stack_add_named(stack, wall.grid.widget, "wall")
        gtk_widget_set_vexpand(cast(stack), 1)
        gtk_widget_set_hexpand(counters.widget, 1)
        gtk_widget_set_valign(counters.widget, GTK_ALIGN_CENTER)
        gtk_widget_set_valign(button, GTK_ALIGN_CENTER)
        for side in [gtk_widget_set_margin_top, gtk_widget_set_margin_bottom] { side(button, 6) }
        gtk_widget_set_margin_end(button, 12)
        let bar = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [counters.widget, button])
        owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL, spacing: 0, [cast(stack), bar]))
        connect(OpaquePointer(button), "clicked") { [weak self] in self?.startOrStop() }
        connect(OpaquePointer(widget), "unmap") { [weak self] in self?.stop() }
        updateButton()
    }

    var widget: Widget { owned.widget }

    private var isFlung: Bool { work != nil }
    /// Whether a fling begins once it is known what the images look like.
    private var isPreparing = false { didSet { updateButton() } }

    /// Whether all images in view are loaded or have failed. They are not while the wall is flung.
    var isAtRest: Bool { !isFlung && (isWallShown ? wall.isAtRest : true) }

    /// Flings the wall and shows the result.
    /// - Parameter hasBaseline: Whether the same wall with empty cells is flung before.
    /// - Returns: The task of the fling, whose value is `nil` when the fling was stopped.
    @discardableResult
    private func start(seconds: Double, hasBaseline: Bool) -> Task<FlingResult?, Never> {
        let work = Task {
            let result = await measure(seconds, hasBaseline: hasBaseline)
            self.work = nil
            updateButton()
            if let result { show(result) }
            return result
        }
        self.work = work
        updateButton()
        return work
    }

    private func measure(_ seconds: Double, hasBaseline: Bool) async -> FlingResult? {
        showWall()
        if signatures == nil, let server = context.source as? ImageServer {
            // They take some seconds, in which the page may be left.
            isPreparing = true
            defer { isPreparing = false }
            signatures = await ImageSignatures(folder: server.folder, names: server.names)
            guard signatures != nil, gtk_widget_get_mapped(widget) != 0 else { return nil }
        }
        var empty: FrameTimes?
        if hasBaseline {
            empty = await flingEmptyCells(seconds)
            guard empty != nil else { return nil }
        }
        var result = await flingWall(seconds)
        result?.empty = empty
        return result
    }

    private func flingWall(_ seconds: Double) async -> FlingResult? {
        let inspector = CellInspector(wall, signatures: signatures)
        let before = wall.counts.all
        var memory = 0
        let times = await run(wall.grid, seconds) {
            inspector.look()
            // Reading the memory takes as long as looking at some cells.
            if inspector.frameCount.isMultiple(of: 30) { memory = max(memory, ProcessMemory.byteCount) }
        }
        guard let times else { return nil }
        return FlingResult(
            imageCount: wall.urls.count,
            times: times,
            cells: inspector.figures,
            loads: wall.counts.all.since(before),
            memory: (
                process: max(memory, ProcessMemory.byteCount),
                pixels: ImageManager.shared.cache.memoryStatistics.byteCount
            )
        )
    }

    /// Flings a wall of the same cells without images.
    private func flingEmptyCells(_ seconds: Double) async -> FrameTimes? {
        let grid = EmptyWall.makeGrid(urls: wall.urls)
        gtk_stack_add_named(stack, grid.widget, "empty")
        gtk_stack_set_visible_child(stack, grid.widget)
        defer {
            showWall()
            gtk_stack_remove(stack, grid.widget)
        }
        return await run(grid, seconds) {}
    }

    private func run(_ grid: WallGrid, _ seconds: Double, painted: @escaping () -> Void) async -> FrameTimes? {
        guard !Task.isCancelled else { return nil }
        let motion = FlingMotion(duration: seconds, speed: FlingMotion.quick)
        let fling = Fling(grid, motion, painted: painted)
        self.fling = fling
        defer { self.fling = nil }
        return await fling.run()
    }

    // What is shown

    private var isWallShown: Bool { gtk_stack_get_visible_child(stack) == wall.grid.widget }

    private func showWall() {
        gtk_stack_set_visible_child(stack, wall.grid.widget)
        if let card = gtk_stack_get_child_by_name(stack, "card") { gtk_stack_remove(stack, card) }
    }

    private func show(_ result: FlingResult) {
        let card = FlingCard(result) { [weak self] in
            self?.startOrStop()
        } close: { [weak self] in
            self?.showWall()
            self?.focusWall()
        }
        gtk_stack_add_named(stack, card.widget, "card")
        gtk_stack_set_visible_child(stack, card.widget)
        card.grabFocus()
    }

    private func focusWall() { gtk_widget_child_focus(wall.grid.widget, GTK_DIR_TAB_FORWARD) }

    private func startOrStop() {
        guard !isFlung else { return stop() }
        start(seconds: Self.flingTime, hasBaseline: false)
    }

    private func stop() {
        work?.cancel()
        fling?.stop()
    }

    private func updateButton() {
        let text = isPreparing ? tr("Preparing…") : isFlung ? tr("Stop") : tr("Fling")
        gtk_button_set_label(cast(OpaquePointer(button)), text)
        gtk_widget_set_tooltip_text(button, isFlung ? tr("Stop the fling") : tr("Fling the wall for 20 seconds"))
    }
}

extension WallStage: Flingable {
    /// The wall with empty cells is flung first.
    func report(flinging seconds: Double) async -> String? {
        isFlung ? nil : await start(seconds: seconds, hasBaseline: true).value?.text
    }
}

/// The cells of the wall without images, which show what GTK takes by itself.
enum EmptyWall {
    @MainActor
    static func makeGrid(urls: [URL]) -> WallGrid {
        let factory = gtk_signal_list_item_factory_new()!
        connect(factory, "setup") { item in
            let picture = gtk_picture_new()!
            gtk_widget_set_size_request(picture, 160, 120)
            gtk_list_item_set_child(item, picture)
        }
        return WallGrid(gtk_grid_view_new(gtk_no_selection_new(WallGrid.model(of: urls)), factory))
    }
}
