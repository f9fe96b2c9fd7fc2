internal import CWebImageGtk4
import FoundationEssentials
public import WebImageCore
import WebImageLinux

/// Loads the images of a list ahead of what is on screen, in the direction in which it is scrolled; what has been
/// left behind is dropped again.
///
///     prefetcher = ListPrefetcher(view: grid) { position in
///         ImageRequest(url: urls[position], decodeSize: .fill(PixelSize(width: 160, height: 120)))
///     }
///
/// Where rows are on screen it knows from the scroll position: it takes all rows for equally high, as the lists of GTK
/// do with those that they have not seen. A list that is flung past has nothing loaded ahead of it; that begins when it
/// comes to rest. Kept by the app for as long as it is wanted. Main thread only.
@MainActor
public final class ListPrefetcher {
    /// The positions on screen, as far as is known.
    public private(set) var visible = 0..<0
    /// The positions that are loaded ahead just now.
    public private(set) var ahead = 0..<0
    /// How many screens are loaded ahead. Default: 1.5.
    public var screensAhead = 1.5

    private let view: WidgetReference
    private let prefetcher: ImagePrefetcher
    private let request: (Int) -> ImageRequest?
    private var adjustment: Followed?
    private var viewHandler: gulong = 0
    private var tasks: [Int: (url: URL, task: PrefetchTask)] = [:]
    private var rest: DelayedCall?
    private var lastFirst = 0
    private var isForward = true

    /// Begins to watch a list.
    /// - Parameters:
    ///   - view: A GtkListView, GtkGridView or GtkColumnView, in a scrolled window or on the way there.
    ///   - prefetcher: What loads. Default: the shared one.
    ///   - request: What is loaded for a position; best at the size at which the list shows it.
    public init(
        view: UnsafeMutableRawPointer,
        prefetcher: ImagePrefetcher = .shared,
        request: @escaping (_ position: Int) -> ImageRequest?
    ) {
        self.view = WidgetReference(view)
        self.prefetcher = prefetcher
        self.request = request
        let property = isVertical ? "vadjustment" : "hadjustment"
        viewHandler = view.connectNotify(property) { [weak self] in self?.follow() }
        follow()
    }

    /// Ends it, and drops what is loaded ahead.
    public func stop() {
        disconnect()
        if let view = view.pointer, viewHandler != 0 { g_signal_handler_disconnect(view, viewHandler) }
        viewHandler = 0
        rest?.cancel()
        for (_, task) in tasks.values { task.cancel() }
        tasks = [:]
        ahead = 0..<0
    }

    private var isVertical: Bool {
        guard let view = view.pointer, UnsafeMutableRawPointer(view).isInstance(of: gtk_orientable_get_type()) else {
            return true
        }
        return gtk_orientable_get_orientation(OpaquePointer(view)) == GTK_ORIENTATION_VERTICAL
    }

    /// The scrolled window gives a list its adjustment when it comes into it.
    private func follow() {
        disconnect()
        guard let view = view.pointer else { return }
        let scrollable = OpaquePointer(view)
        let found = isVertical ? gtk_scrollable_get_vadjustment(scrollable) : gtk_scrollable_get_hadjustment(scrollable)
        guard let found else { return }
        let object = UnsafeMutableRawPointer(g_object_ref(UnsafeMutableRawPointer(found))!)
        let handlers = ["value-changed", "changed"].map { signal in
            object.connect(signal) { [weak self] in self?.moved() }
        }
        adjustment = Followed(address: UInt(bitPattern: object), owned: GObjectReference(object), handlers: handlers)
        moved()
    }

    private func disconnect() {
        guard let followed = adjustment.take() else { return }
        for handler in followed.handlers { g_signal_handler_disconnect(followed.object, handler) }
        followed.owned.release()
    }

    private func moved() {
        MainThreadMeter.measure {
            guard let positions = positionsOnScreen() else { return }
            let moved = positions.lowerBound - lastFirst
            if moved != 0 { isForward = moved > 0 }
            lastFirst = positions.lowerBound
            visible = positions
            if abs(moved) <= max(positions.count, 1) {
                load()
            } else {
                // Flung past: nobody knows where it will stop.
                drop(outside: 0..<0)
            }
            rest?.cancel()
            rest = DelayedCall(after: .milliseconds(100)) { [weak self] in self?.load() }
        }
    }

    private func positionsOnScreen() -> Range<Int>? {
        guard let view = view.pointer, let adjustment else { return nil }
        let native = adjustment.object.assumingMemoryBound(to: GtkAdjustment.self)
        let upper = gtk_adjustment_get_upper(native)
        let count = Int(g_list_model_get_n_items(view.listModel))
        guard upper > 0, count > 0 else { return 0..<0 }
        let perPixel = Double(count) / upper
        let value = gtk_adjustment_get_value(native)
        let first = Int((value * perPixel).rounded(.down))
        let last = Int(((value + gtk_adjustment_get_page_size(native)) * perPixel).rounded(.up))
        return max(0, min(first, count))..<max(0, min(max(last, first), count))
    }

    private func load() {
        guard let view = view.pointer else { return stop() }
        let count = Int(g_list_model_get_n_items(view.listModel))
        let length = Int((Double(visible.count) * screensAhead).rounded(.up))
        ahead =
            isForward
            ? min(visible.upperBound, count)..<min(visible.upperBound + length, count)
            : max(0, visible.lowerBound - length)..<max(0, visible.lowerBound)
        drop(outside: ahead)
        for position in isForward ? Array(ahead) : ahead.reversed() {
            // The model may have changed: another image may be there now.
            guard var request = request(position), tasks[position]?.url != request.url else { continue }
            tasks[position]?.task.cancel()
            request.priority = min(request.priority, .low)
            request.acceptsLarger = request.transformer == nil
            request.preparation = TexturePreparation()
            tasks[position] = (request.url, prefetcher.prefetch(requests: [request]) { _ in })
        }
    }

    /// An image that is on screen by now is loaded by its cell as well; dropping it here harms nobody.
    private func drop(outside range: Range<Int>) {
        for (position, entry) in tasks where !range.contains(position) {
            entry.task.cancel()
            tasks[position] = nil
        }
        if range.isEmpty { ahead = 0..<0 }
    }

    deinit {
        adjustment?.owned.releaseOnMainThread()
    }
}

/// What a list is scrolled by, and who listens to it.
private struct Followed: Sendable {
    let address: UInt
    let owned: GObjectReference
    let handlers: [gulong]

    @MainActor var object: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: address)! }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// The model of a list of any kind; every kind has it under this name.
    fileprivate var listModel: OpaquePointer? {
        UnsafeMutableRawPointer(self).objectProperty("model").map { OpaquePointer($0) }
    }
}
