internal import CWebImageGtk4
import WebImageLinux

/// Binds only the rows of a GtkListBox or GtkFlowBox that are on screen or near it, and unbinds the others.
///
/// These widgets create all their rows at once, and GTK maps all of them. Without a binder, a list of a thousand rows
/// would load a thousand images.
///
///     rows = LazyRowBinder(container: WidgetPointer(listBox)) { row, index in
///         row.setImage(with: urls[index])
///     } unbind: { row, _ in
///         row.clearImage()
///     }
///
/// Keep the binder as long as you need it. A list has one binder at a time: a new one takes over the rows and binds
/// them again, and the previous one leaves them alone. Main thread only.
@preconcurrency @MainActor
public final class LazyRowBinder {
    typealias RowHandler = @MainActor (_ row: WidgetPointer, _ index: Int) -> Void

    /// The indices of the bound rows.
    package private(set) var boundRange = 0..<0
    /// The number of screens above and below that count as near. Default: 1.
    public var screensAhead = 1.0

    private let container: WidgetReference
    private let bind: RowHandler
    private let unbind: RowHandler
    /// The signals of the scroll position.
    private var connections: SignalConnections?
    private var isUpdateScheduled = false
    private static let quark = g_quark_from_string("gtk-web-image-lazy-row")
    private static let listQuark = g_quark_from_string("gtk-web-image-lazy-list")
    /// Marks the rows that this binder has bound. The address of the binder could be reused by another one.
    private let number: Int
    private static var lastNumber = 0

    /// Starts watching a list.
    /// - Parameters:
    ///   - container: The list, at any depth within a scrolled window.
    ///   - bind: Called with a row that comes near, and its index.
    ///   - unbind: Called with a row that is no longer near, and its index.
    public init(
        container: some GtkWidgetConvertible,
        bind: @escaping @MainActor (_ row: WidgetPointer, _ index: Int) -> Void,
        unbind: @escaping @MainActor (_ row: WidgetPointer, _ index: Int) -> Void
    ) {
        let container = container.nativeWidgetPointer
        self.container = WidgetReference(container)
        self.bind = bind
        self.unbind = unbind
        Self.lastNumber += 1
        number = Self.lastNumber
        let object = container.assumingMemoryBound(to: GObject.self)
        g_object_set_qdata(object, Self.listQuark, UnsafeMutableRawPointer(bitPattern: number))
        container.connect("map") { [weak self] in self?.watch() }
        if gtk_widget_get_mapped(container.assumingMemoryBound(to: GtkWidget.self)) != 0 { watch() }
    }

    /// Binds and unbinds rows by their current positions. This happens automatically after each scroll and each layout.
    package func update() {
        MainThreadMeter.measure {
            // A handler may add and remove rows, which changes the positions of the others.
            for _ in 0..<Self.mostPasses where !bindNearRows() {}
        }
    }

    /// - Returns: Whether the rows are unchanged at the end.
    private func bindNearRows() -> Bool {
        // Two binders would take the rows from each other forever.
        guard let container = container.pointer,
            Self.mark(of: UnsafeMutableRawPointer(container), Self.listQuark) == number,
            let scrolled = gtk_widget_get_ancestor(container, gtk_scrolled_window_get_type())
        else { return true }
        let rows = rows(of: container)
        let near = near(rows, in: scrolled)
        boundRange = near
        let changes = rows.enumerated().compactMap { index, row -> (Int, Bool, GObjectBox)? in
            let isNear = near.contains(index) && isLaidOut(row)
            return needsChange(row, isNear: isNear) ? (index, isNear, GObjectBox(retaining: row)) : nil
        }
        for (index, isNear, row) in changes {
            let pointer = row.pointer
            guard isInPlace(pointer, index, of: container) else { return false }
            // The handler for another row may have called this function.
            guard needsChange(pointer, isNear: isNear) else { continue }
            let object = pointer.assumingMemoryBound(to: GObject.self)
            g_object_set_qdata(object, Self.quark, isNear ? UnsafeMutableRawPointer(bitPattern: number) : nil)
            if isNear { bind(WidgetPointer(pointer), index) } else { unbind(WidgetPointer(pointer), index) }
        }
        return true
    }

    /// Whether a row still has its position.
    private func isInPlace(
        _ row: UnsafeMutableRawPointer,
        _ index: Int,
        of container: UnsafeMutablePointer<GtkWidget>
    ) -> Bool {
        guard gtk_widget_get_parent(row.assumingMemoryBound(to: GtkWidget.self)) == container else { return false }
        return position(of: row).map { $0 == index } ?? true
    }

    /// The position of a row in its list; `nil` for a child of another container.
    private func position(of row: UnsafeMutableRawPointer) -> Int? {
        if row.isInstance(of: gtk_list_box_row_get_type()) {
            return Int(gtk_list_box_row_get_index(row.assumingMemoryBound(to: GtkListBoxRow.self)))
        }
        guard row.isInstance(of: gtk_flow_box_child_get_type()) else { return nil }
        return Int(gtk_flow_box_child_get_index(row.assumingMemoryBound(to: GtkFlowBoxChild.self)))
    }

    /// The limit for a handler that adds a row each time, which would otherwise be called forever.
    private static let mostPasses = 100

    /// Whether a row must be bound or unbound. Rows that another binder has bound are taken over.
    private func needsChange(_ row: UnsafeMutableRawPointer, isNear: Bool) -> Bool {
        // The row itself carries the mark, because rows are added, removed and reordered.
        let mark = Self.mark(of: row, Self.quark)
        return isNear ? mark != number : mark != 0
    }

    /// The number of the binder of a row, or of the newest binder of a list; 0 if there is none.
    private static func mark(of object: UnsafeMutableRawPointer, _ quark: GQuark) -> Int {
        Int(bitPattern: g_object_get_qdata(object.assumingMemoryBound(to: GObject.self), quark))
    }

    private func watch() {
        guard let container = container.pointer,
            let scrolled = gtk_widget_get_ancestor(container, gtk_scrolled_window_get_type()),
            let adjustment = gtk_scrolled_window_get_vadjustment(OpaquePointer(scrolled))
        else { return }
        let object = UnsafeMutableRawPointer(adjustment)
        if connections?.object.pointer != object {
            connections?.disconnect()
            let new = SignalConnections(GObjectBox(retaining: object))
            for signal in ["value-changed", "changed"] { new.connect(signal) { [weak self] in self?.scheduleUpdate() } }
            connections = new
        }
        scheduleUpdate()
    }

    /// Updates within the next frame, once the rows have been laid out.
    private func scheduleUpdate() {
        guard let container = container.pointer, gtk_widget_get_mapped(container) != 0 else { return }
        guard !isUpdateScheduled else { return }
        isUpdateScheduled = true
        LayoutWaiter.wait(for: container) { [weak self] in
            self?.isUpdateScheduled = false
            self?.update()
        }
    }

    /// The rows of a list by their positions. Headers and the placeholder of a list are also its children, and a sorted
    /// flow box leaves its children unsorted among their siblings.
    private func rows(of container: UnsafeMutablePointer<GtkWidget>) -> [UnsafeMutableRawPointer] {
        let isList = [gtk_list_box_get_type(), gtk_flow_box_get_type()].contains {
            UnsafeMutableRawPointer(container).isInstance(of: $0)
        }
        var rows: [(position: Int, row: UnsafeMutableRawPointer)] = []
        var child = gtk_widget_get_first_child(container)
        while let current = child {
            let row = UnsafeMutableRawPointer(current)
            if let position = isList ? position(of: row) : rows.count { rows.append((position, row)) }
            child = gtk_widget_get_next_sibling(current)
        }
        return rows.sorted { $0.position < $1.position }.map(\.row)
    }

    /// Whether a row has a place. A row that is filtered out keeps its old position.
    private func isLaidOut(_ row: UnsafeMutableRawPointer) -> Bool {
        let row = row.assumingMemoryBound(to: GtkWidget.self)
        return gtk_widget_get_visible(row) != 0 && gtk_widget_get_child_visible(row) != 0
    }

    /// Finds the rows by their coordinates, because rows may differ in height.
    private func near(_ rows: [UnsafeMutableRawPointer], in scrolled: UnsafeMutablePointer<GtkWidget>) -> Range<Int> {
        let height = Double(gtk_widget_get_height(scrolled))
        let margin = height * screensAhead
        var (first, last) = (Int.max, -1)
        for (index, row) in rows.enumerated() where isLaidOut(row) {
            let row = row.assumingMemoryBound(to: GtkWidget.self)
            var (origin, position) = (graphene_point_t(x: 0, y: 0), graphene_point_t(x: 0, y: 0))
            _ = gtk_widget_compute_point(row, scrolled, &origin, &position)
            let y = Double(position.y)
            if y + Double(gtk_widget_get_height(row)) > -margin, y < height + margin {
                first = min(first, index)
                last = index
            } else if last >= 0 {
                break
            }
        }
        return last >= first ? first..<last + 1 : 0..<0
    }
}
