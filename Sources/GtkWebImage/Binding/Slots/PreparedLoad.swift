internal import CWebImageGtk4
import WebImageCore

/// A request of a child task that is about to start.
struct PreparedLoad: Sendable {
    let size: DecodeSize
    let scale: Double?
    let request: PreparedRequest

    /// Whether the widget is unchanged since then.
    @MainActor
    func fits(_ size: DecodeSize, on widget: WidgetReference?) -> Bool {
        self.size == size && (scale == nil || scale == widget?.pointer?.deviceScale)
    }
}

extension ImageSlot {
    /// Prepares the request of the next child task, and looks for its image in memory: at any size if the widget has none yet.
    func lookIntoMemory(_ size: DecodeSize?) -> (PreparedLoad?, ImageManager.MemoryHit?) {
        guard current?.request.sequence == nil, let manager = current?.manager,
            let query = current?.makeRequest(size ?? .original, for: widget)
        else { return (nil, nil) }
        var request = manager.prepare(query)
        let startsNow = startsNow(size)
        let hit = manager.memoryHit(for: request, inAnySize: size == nil, isRepeated: !startsNow)
        request.hasMissed = startsNow && size != nil && hit == nil
        return (PreparedLoad(size: size ?? .original, scale: query.displayScale, request: request), hit)
    }

    /// Whether a load starts within the call that sets it, so that memory is not asked again.
    private func startsNow(_ size: DecodeSize?) -> Bool {
        guard let widget else { return true }
        guard let pointer = widget.pointer, !SuspendedWidgets.contain(pointer) else { return false }
        return current?.request.options.start == .immediately || isMapped != false && size != nil && !pointer.isInList
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Whether the widget is part of a row of a GtkListView or a similar list. Such lists also bind rows that the next
    /// layout moves off screen, so a load waits for that layout.
    var isInList: Bool { gtk_widget_get_ancestor(self, gtk_list_base_get_type()) != nil }
}
