internal import CWebImageGtk4
import WebImageLinux

/// Binds the rows of a GtkListBox or GtkFlowBox that are on screen or near it, and lets go of the others.
///
/// Those widgets have all their rows at once, and GTK takes them all for visible: without this a list of a thousand
/// rows would load a thousand images.
///
///     rows = LazyRowBinder(container: listBox) { row, index in
///         WidgetPointer(row).setImage(with: urls[index])
///     } unbind: { row, _ in
///         WidgetPointer(row).setImage(with: nil as URL?)
///     }
///
/// Kept by the app for as long as it is wanted. Main thread only.
@MainActor
public final class LazyRowBinder {
    /// What is done with a row and its index among the rows.
    public typealias RowHandler = (_ row: UnsafeMutableRawPointer, _ index: Int) -> Void

    /// The indices of the rows that are bound.
    public private(set) var bound = 0..<0
    /// How many screens above and below count as near. Default: 1.
    public var prefetchScreens = 1.0

    private let container: WidgetReference
    private let bind: RowHandler
    private let unbind: RowHandler
    /// The adjustment that is listened to; its address, for it is compared only.
    private var followed: UInt = 0
    private var isWaiting = false
    private static let quark = g_quark_from_string("gtk-web-image-lazy-row")

    /// Begins to watch a list.
    /// - Parameters:
    ///   - container: The list, anywhere within a scrolled window.
    ///   - bind: Called for a row that comes near.
    ///   - unbind: Called for a row that is no longer near.
    public init(container: UnsafeMutableRawPointer, bind: @escaping RowHandler, unbind: @escaping RowHandler) {
        self.container = WidgetReference(container)
        self.bind = bind
        self.unbind = unbind
        container.connect("map") { [weak self] in self?.watch() }
        if gtk_widget_get_mapped(container.assumingMemoryBound(to: GtkWidget.self)) != 0 { watch() }
    }

    /// Looks again which rows are near, as after each scroll and each layout.
    public func update() {
        MainThreadMeter.measure {
            guard let container = container.pointer, let near = nearRows(of: container) else { return }
            bound = near
            var index = 0
            var row = gtk_widget_get_first_child(container)
            while let current = row {
                row = gtk_widget_get_next_sibling(current)
                // The mark is the row's: rows come and go, and change their places.
                let object = UnsafeMutableRawPointer(current).assumingMemoryBound(to: GObject.self)
                let isBound = g_object_get_qdata(object, Self.quark) != nil
                if !isBound, near.contains(index) {
                    g_object_set_qdata(object, Self.quark, object)
                    bind(UnsafeMutableRawPointer(current), index)
                } else if isBound, !near.contains(index) {
                    g_object_set_qdata(object, Self.quark, nil)
                    unbind(UnsafeMutableRawPointer(current), index)
                }
                index += 1
            }
        }
    }

    private func watch() {
        guard let container = container.pointer,
            let scrolled = gtk_widget_get_ancestor(container, gtk_scrolled_window_get_type()),
            let adjustment = gtk_scrolled_window_get_vadjustment(OpaquePointer(scrolled))
        else { return }
        let object = UnsafeMutableRawPointer(adjustment)
        if followed != UInt(bitPattern: object) {
            followed = UInt(bitPattern: object)
            for signal in ["value-changed", "changed"] { object.connect(signal) { [weak self] in self?.soon() } }
        }
        soon()
    }

    /// Within the next frame, when the rows have their places.
    private func soon() {
        guard let container = container.pointer, gtk_widget_get_mapped(container) != 0 else { return }
        guard !isWaiting else { return }
        isWaiting = true
        LayoutWaiter.wait(for: container) { [weak self] in
            self?.isWaiting = false
            self?.update()
        }
    }

    /// By their places; rows of any height.
    private func nearRows(of container: UnsafeMutablePointer<GtkWidget>) -> Range<Int>? {
        guard let scrolled = gtk_widget_get_ancestor(container, gtk_scrolled_window_get_type()) else { return nil }
        let height = Double(gtk_widget_get_height(scrolled))
        let margin = height * prefetchScreens
        var (first, last, index) = (Int.max, -1, 0)
        var row = gtk_widget_get_first_child(container)
        while let current = row {
            var y = 0.0
            gtk_widget_translate_coordinates(current, scrolled, 0, 0, nil, &y)
            if y + Double(gtk_widget_get_height(current)) > -margin, y < height + margin {
                first = min(first, index)
                last = index
            } else if last >= 0 {
                break
            }
            index += 1
            row = gtk_widget_get_next_sibling(current)
        }
        return last >= first ? first..<last + 1 : 0..<0
    }
}
