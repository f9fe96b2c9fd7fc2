internal import CWebImageGtk4
import FoundationEssentials
public import WebImageCore
import WebImageLinux

/// Prefetches the images of a list in the direction of scrolling, and cancels prefetches that were left behind.
///
///     prefetcher = ListPrefetcher(view: WidgetPointer(grid), items: OpaquePointer.init) { item in
///         URL(string: String(cString: gtk_string_object_get_string(item)))
///     }
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

    fileprivate typealias Prefetch = (request: ImageRequest, task: PrefetchTask)

    private let view: WidgetReference
    private let prefetcher: ImagePrefetcher
    /// Returns the requests for a position of a `GListModel *`.
    private let requests: @MainActor (_ model: OpaquePointer, _ position: Int) -> [ImageRequest]
    private var adjustment: SignalConnections?
    private var model: SignalConnections?
    private var viewHandlers: [UInt] = []
    /// The tasks of each position, with the requests as the app has returned them.
    private var tasks: [Int: [Prefetch]] = [:]
    /// Whether the model has changed since the tasks got their positions.
    private var haveItemsMoved = false
    private var restTimer: DelayedCall?
    private var lastFirst = 0
    private var isForward = true

    /// Starts watching a list whose items tell what to load, however its model is sorted and filtered.
    /// - Parameters:
    ///   - view: A GtkListView, GtkGridView or GtkColumnView. It may enter its scrolled window later.
    ///   - items: Makes what the closures receive from the `GObject *` of an item: `OpaquePointer.init`, or the initializer of
    ///     a class of your binding. The item is borrowed for the call of a closure; take a reference to keep it.
    ///   - prefetcher: The prefetcher that loads the images. Default: the shared one.
    ///   - additionalRequests: Returns requests for further images of a row, such as the photos of a post next to its
    ///     avatar. Default: none.
    ///   - request: Returns the URL or the ImageRequest for an item. Set a decode size, in device pixels, only if the cells
    ///     differ in size.
    public convenience init<Item, Source: ImageRequestConvertible>(
        view: some GtkWidgetConvertible,
        items: @escaping @MainActor (_ item: UnsafeMutableRawPointer) -> Item,
        prefetcher: ImagePrefetcher = .shared,
        additionalRequests: @escaping @MainActor (_ item: Item) -> [ImageRequest] = { _ in [] },
        request: @escaping @MainActor (_ item: Item) -> Source?
    ) {
        self.init(view.nativeWidgetPointer, prefetcher) { model, position in
            guard let object = g_list_model_get_item(model, guint(position)) else { return [] }
            defer { g_object_unref(object) }
            let item = items(object)
            return [request(item)?.imageRequest].compactMap(\.self) + additionalRequests(item)
        }
    }

    /// Starts watching a list whose positions in the view's model tell what to load. The parameters are the same as for a
    /// list by items. The closures receive a position instead of an item.
    public convenience init<Source: ImageRequestConvertible>(
        view: some GtkWidgetConvertible,
        prefetcher: ImagePrefetcher = .shared,
        additionalRequests: @escaping @MainActor (_ position: Int) -> [ImageRequest] = { _ in [] },
        request: @escaping @MainActor (_ position: Int) -> Source?
    ) {
        self.init(view.nativeWidgetPointer, prefetcher) { _, position in
            [request(position)?.imageRequest].compactMap(\.self) + additionalRequests(position)
        }
    }

    private init(
        _ view: UnsafeMutableRawPointer,
        _ prefetcher: ImagePrefetcher,
        requests: @escaping @MainActor (_ model: OpaquePointer, _ position: Int) -> [ImageRequest]
    ) {
        self.view = WidgetReference(view)
        self.prefetcher = prefetcher
        self.requests = requests
        let property = isVertical ? "vadjustment" : "hadjustment"
        viewHandlers = [
            view.connect("notify::\(property)") { [weak self] in self?.followAdjustment() },
            view.connect("notify::model") { [weak self] in self?.followModel() },
        ]
        followModel()
        followAdjustment()
    }

    deinit {
        for entry in tasks.values.joined() { entry.task.cancel() }
        // GTK's objects stay on the main thread, but the last release may happen on another thread.
        MainLoopDispatcher.shared.dispatch { [adjustment, model, view, viewHandlers] in
            MainActor.assumeIsolated {
                adjustment?.disconnect()
                model?.disconnect()
                if let view = view.address { for handler in viewHandlers { view.disconnect(handler) } }
            }
        }
    }

    /// Stops watching and cancels all prefetches.
    public func stop() {
        adjustment.take()?.disconnect()
        model.take()?.disconnect()
        if let view = view.address { for handler in viewHandlers { view.disconnect(handler) } }
        viewHandlers = []
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

    /// Follows the model of the list, which may change while the list rests.
    private func followModel() {
        model.take()?.disconnect()
        model = view.address?.objectProperty("model").map { SignalConnections(GObjectBox(retaining: $0)) }
        model?.connect("items-changed") { [weak self] in self?.itemsMoved() }
        itemsMoved()
    }

    private func itemsMoved() {
        guard !haveItemsMoved, let view = view.pointer else { return }
        haveItemsMoved = true
        // The layout scrolls the list if other items are on screen.
        LayoutWaiter.wait(for: view) { [weak self] in
            if self?.haveItemsMoved == true { self?.prefetch() }
        }
    }

    private func scrolled() {
        MainThreadMeter.measure {
            guard let positions = positionsOnScreen() else { return }
            // Items that come or go in front of those on screen move the scroll position, which is no scroll.
            let distance = haveItemsMoved ? 0 : positions.lowerBound - lastFirst
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
        let count = itemCount
        guard upper > 0, count > 0 else { return 0..<0 }
        let columns = view.columnCount(isVertical: isVertical)
        let rowsPerPixel = Double((count + columns - 1) / columns) / upper
        let value = gtk_adjustment_get_value(native)
        // The slack keeps a rounding error from adding a row.
        let firstRow = (value * rowsPerPixel + 0.001).rounded(.down)
        let lastRow = ((value + gtk_adjustment_get_page_size(native)) * rowsPerPixel - 0.001).rounded(.up)
        let first = Int(bounded: firstRow).boundedProduct(columns)
        let last = Int(bounded: lastRow).boundedProduct(columns)
        return max(0, min(first, count))..<max(0, min(max(last, first), count))
    }

    /// The number of items of the list; 0 while it has no model.
    private var itemCount: Int { model.map { Int(g_list_model_get_n_items(OpaquePointer($0.object.pointer))) } ?? 0 }

    private func prefetch() {
        guard let view = view.pointer else { return stop() }
        let count = itemCount
        let length = min(max(Int(bounded: (Double(visibleRange.count) * screensAhead).rounded(.up)), 0), count)
        // The model, and so the number of positions, may have shrunk since the list was scrolled.
        let (start, end) = (min(visibleRange.lowerBound, count), min(visibleRange.upperBound, count))
        prefetchedRange = isForward ? end..<min(end + length, count) : max(0, start - length)..<start
        // A task follows its item to another position, on screen or ahead, and otherwise ends.
        var moved = haveItemsMoved ? tasks.values.flatMap(\.self) : []
        if haveItemsMoved { tasks = [:] }
        haveItemsMoved = false
        for position in start..<end where !moved.isEmpty {
            tasks[position] = requests(at: position).compactMap { moved.take($0) }
        }
        cancel(outside: min(start, prefetchedRange.lowerBound)..<max(end, prefetchedRange.upperBound))
        let cellSize = view.boundDecodeSize
        for position in isForward ? Array(prefetchedRange) : prefetchedRange.reversed() {
            // The app may return another image, or another request for the same image.
            var earlier = tasks[position] ?? []
            tasks[position] = requests(at: position).compactMap { wanted in
                if let known = earlier.take(wanted) ?? moved.take(wanted) { return known }
                var request = wanted
                // A request without a size waits until a cell has one.
                guard let size = request.decodeSize ?? cellSize else { return nil }
                request.decodeSize = size
                request.priority = min(request.priority, .low)
                request.acceptsLarger = true
                if size != .original { request.displayScale = view.deviceScale }
                request.preparation = TexturePreparation()
                return (wanted, prefetcher.prefetch([request]))
            }
            for entry in earlier { entry.task.cancel() }
        }
        for entry in moved { entry.task.cancel() }
    }

    private func requests(at position: Int) -> [ImageRequest] {
        guard let model else { return [] }
        return requests(OpaquePointer(model.object.pointer), position)
            .map { $0.darkURL == nil ? $0 : $0.inStyle(isDark: DarkStyle.isOn) }
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
    /// The decode size of the first bound widget on screen, among this widget and those within it. The headers of sections
    /// may have images, too, in another size.
    @MainActor
    fileprivate var boundDecodeSize: DecodeSize? {
        guard gtk_widget_get_mapped(self) != 0, String(cString: gtk_widget_get_css_name(self)) != "header" else {
            return nil
        }
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
}

extension [ListPrefetcher.Prefetch] {
    /// Removes and returns the task of an equivalent request.
    fileprivate mutating func take(_ wanted: ImageRequest) -> Element? {
        firstIndex { $0.request.isEquivalent(to: wanted) }.map { remove(at: $0) }
    }
}
