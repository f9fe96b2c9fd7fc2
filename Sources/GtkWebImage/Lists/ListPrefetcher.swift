internal import CWebImageGtk4
import FoundationEssentials
public import WebImageCore
import WebImageLinux

/// Prefetches the images of a list in the direction of scrolling, and cancels prefetches that were left behind.
///
///     prefetcher = ListPrefetcher(view: WidgetPointer(grid)) { position in ImageRequest(url: urls[position]) }
///
/// A request without a decode size gets the size of a cell on screen in device pixels, so that the image is a memory
/// hit when its cell is bound. Nothing is prefetched until a cell on screen has its own image.
///
/// The visible positions are derived from the scroll position, assuming that all rows have the same height, as GTK's
/// lists do for rows that they have not measured. Nothing is prefetched during a fling; it starts when the list comes
/// to rest. Keep the prefetcher as long as you need it; releasing it stops it. Main thread only.
@preconcurrency @MainActor
public final class ListPrefetcher {
    /// The positions on screen, estimated from the scroll position. In a grid they are whole rows, except for the last one.
    package private(set) var visibleRange = 0..<0
    /// The positions whose images are prefetched, off screen in the direction of the scroll. Empty during a fling and after ``stop()``.
    package private(set) var prefetchedRange = 0..<0
    /// The number of screens to prefetch. Default: 1.5.
    public var screensAhead = 1.5
    /// Returns requests for further images of a row, such as the photos of a post next to its avatar. Default: none.
    public var additionalRequests: (@MainActor (_ position: Int) -> [ImageRequest])?

    private let view: WidgetReference
    private let prefetcher: ImagePrefetcher
    private let request: @MainActor (Int) -> ImageRequest?
    private var adjustment: SignalConnections?
    private var viewHandler: UInt?
    /// The tasks of each position, with the requests as the app has returned them.
    private var tasks: [Int: [(request: ImageRequest, task: PrefetchTask)]] = [:]
    private var restTimer: DelayedCall?
    private var lastFirst = 0
    private var isForward = true

    /// Starts watching a list.
    /// - Parameters:
    ///   - view: A GtkListView, GtkGridView or GtkColumnView. It may enter its scrolled window later.
    ///   - prefetcher: The prefetcher that loads the images. Default: the shared one.
    ///   - request: Returns the request for a position. Set a decode size, in device pixels, only if the cells differ
    ///     in size.
    public init(
        view: some GtkWidgetConvertible,
        prefetcher: ImagePrefetcher = .shared,
        request: @escaping @MainActor (_ position: Int) -> ImageRequest?
    ) {
        let view = view.nativeWidgetPointer
        self.view = WidgetReference(view)
        self.prefetcher = prefetcher
        self.request = request
        let property = isVertical ? "vadjustment" : "hadjustment"
        viewHandler = view.connect("notify::\(property)") { [weak self] in self?.followAdjustment() }
        followAdjustment()
    }

    deinit {
        for entry in tasks.values.joined() { entry.task.cancel() }
        // GTK's objects stay on the main thread, but the last release may happen on another thread.
        MainLoopDispatcher.shared.dispatch { [adjustment, view, viewHandler] in
            MainActor.assumeIsolated {
                adjustment?.disconnect()
                if let viewHandler, let view = view.pointer { UnsafeMutableRawPointer(view).disconnect(viewHandler) }
            }
        }
    }

    /// Stops watching and cancels all prefetches.
    public func stop() {
        adjustment.take()?.disconnect()
        if let handler = viewHandler.take(), let view = view.pointer {
            UnsafeMutableRawPointer(view).disconnect(handler)
        }
        restTimer?.cancel()
        prefetchedRange = 0..<0
        cancel(outside: prefetchedRange)
    }

    private var isVertical: Bool {
        guard let view = view.pointer, UnsafeMutableRawPointer(view).isInstance(of: gtk_orientable_get_type()) else {
            return true
        }
        return gtk_orientable_get_orientation(OpaquePointer(view)) == GTK_ORIENTATION_VERTICAL
    }

    /// Follows the adjustment of the list, which changes when the list enters a scrolled window.
    private func followAdjustment() {
        adjustment.take()?.disconnect()
        guard let view = view.pointer else { return }
        let scrollable = OpaquePointer(view)
        let found = isVertical ? gtk_scrollable_get_vadjustment(scrollable) : gtk_scrollable_get_hadjustment(scrollable)
        guard let found else { return }
        let connections = SignalConnections(GObjectBox(retaining: UnsafeMutableRawPointer(found)))
        for signal in ["value-changed", "changed"] { connections.connect(signal) { [weak self] in self?.scrolled() } }
        adjustment = connections
        scrolled()
    }

    private func scrolled() {
        MainThreadMeter.measure {
            guard let positions = positionsOnScreen() else { return }
            let distance = positions.lowerBound - lastFirst
            if distance != 0 { isForward = distance > 0 }
            lastFirst = positions.lowerBound
            visibleRange = positions
            if abs(distance) <= max(positions.count, 1) {
                prefetch()
            } else {
                // During a fling, its end is unknown.
                prefetchedRange = 0..<0
                cancel(outside: visibleRange)
            }
            restTimer?.cancel()
            restTimer = DelayedCall(after: .milliseconds(100)) { [weak self] in self?.prefetch() }
        }
    }

    private func positionsOnScreen() -> Range<Int>? {
        guard let view = view.pointer, let adjustment else { return nil }
        let native = adjustment.object.pointer.assumingMemoryBound(to: GtkAdjustment.self)
        let upper = gtk_adjustment_get_upper(native)
        let count = view.itemCount
        guard upper > 0, count > 0 else { return 0..<0 }
        let columns = view.columnCount(isVertical: isVertical)
        let rowsPerPixel = Double((count + columns - 1) / columns) / upper
        let value = gtk_adjustment_get_value(native)
        // The slack keeps a rounding error from adding a row.
        let firstRow = (value * rowsPerPixel + 0.001).rounded(.down)
        let lastRow = ((value + gtk_adjustment_get_page_size(native)) * rowsPerPixel - 0.001).rounded(.up)
        let (first, last) = (Int(firstRow) * columns, Int(lastRow) * columns)
        return max(0, min(first, count))..<max(0, min(max(last, first), count))
    }

    private func prefetch() {
        guard let view = view.pointer else { return stop() }
        let count = view.itemCount
        let length = min(max(Int(bounded: (Double(visibleRange.count) * screensAhead).rounded(.up)), 0), count)
        // The model, and so the number of positions, may have shrunk since the list was scrolled.
        let (start, end) = (min(visibleRange.lowerBound, count), min(visibleRange.upperBound, count))
        prefetchedRange = isForward ? end..<min(end + length, count) : max(0, start - length)..<start
        cancel(outside: min(start, prefetchedRange.lowerBound)..<max(end, prefetchedRange.upperBound))
        let cellSize = view.boundDecodeSize
        for position in isForward ? Array(prefetchedRange) : prefetchedRange.reversed() {
            // The model may have changed, so that the position holds another image, or another request for the same
            // image. A request without a size waits until a cell has one.
            let wanted = ([request(position)].compactMap(\.self) + (additionalRequests?(position) ?? []))
                .filter { $0.decodeSize != nil || cellSize != nil }
            guard !wanted.isEmpty else { continue }
            var earlier = tasks[position] ?? []
            tasks[position] = wanted.map { wanted in
                if let index = earlier.firstIndex(where: { $0.request.isEquivalent(to: wanted) }) {
                    return earlier.remove(at: index)
                }
                var request = wanted
                request.decodeSize = request.decodeSize ?? cellSize
                request.priority = min(request.priority, .low)
                request.acceptsLarger = true
                if request.decodeSize != .original { request.displayScale = view.deviceScale }
                request.preparation = TexturePreparation()
                return (wanted, prefetcher.prefetch([request]))
            }
            for entry in earlier { entry.task.cancel() }
        }
    }

    /// Cancels the prefetches outside of a range. Prefetches on screen continue: their cells join them only when they
    /// are laid out, and a transfer that was cancelled before that would start again.
    private func cancel(outside range: Range<Int>) {
        for (position, entries) in tasks where !range.contains(position) {
            for entry in entries { entry.task.cancel() }
            tasks[position] = nil
        }
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// The decode size of the first bound widget on screen, among this widget and those within it.
    @MainActor
    fileprivate var boundDecodeSize: DecodeSize? {
        guard gtk_widget_get_mapped(self) != 0 else { return nil }
        let slot = WidgetSlots.existing(of: UnsafeMutableRawPointer(self))?.existingSlot(for: .image)
        if let size = slot?.target.decodeSize() { return size }
        var child = gtk_widget_get_first_child(self)
        while let current = child {
            if let size = current.boundDecodeSize { return size }
            child = gtk_widget_get_next_sibling(current)
        }
        return nil
    }

    /// The number of items side by side. GtkGridView does not expose it, but divides its width by it (gtkgridview.c).
    fileprivate func columnCount(isVertical: Bool) -> Int {
        guard UnsafeMutableRawPointer(self).isInstance(of: gtk_grid_view_get_type()) else { return 1 }
        let grid = OpaquePointer(self)
        let (least, most) = (Int(gtk_grid_view_get_min_columns(grid)), Int(gtk_grid_view_get_max_columns(grid)))
        var child = gtk_widget_get_first_child(self)
        while let item = child {
            let (length, all) =
                isVertical
                ? (gtk_widget_get_width(item), gtk_widget_get_width(self))
                : (gtk_widget_get_height(item), gtk_widget_get_height(self))
            // Recycled cells are not laid out.
            if length > 1 { return Swift.max(1, least, min(Int((Double(all) / Double(length)).rounded()), most)) }
            child = gtk_widget_get_next_sibling(item)
        }
        return Swift.max(1, least)
    }

    /// The number of items of a list; 0 while it has no model.
    fileprivate var itemCount: Int {
        guard let model = UnsafeMutableRawPointer(self).objectProperty("model") else { return 0 }
        return Int(g_list_model_get_n_items(OpaquePointer(model)))
    }
}
