internal import CWebImageGtk4
internal import CWebImageGtkShims

/// The widgets of one line of the waterfall.
@MainActor
final class WaterfallRow {
    let widget: Widget
    private let title = shortLabel("")
    private let caption = shortLabel("", "small", "figures", "faint")
    private let bars = Canvas()
    private var line: LoadLine?
    private var axis: StageBar.Axis?

    init() {
        gtk_widget_set_size_request(bars.widget, -1, 8)
        gtk_label_set_ellipsize(caption.native, PANGO_ELLIPSIZE_END)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 3, [title, caption, bars.widget])
        bars.draw = { [weak self] painter in
            guard let self, let line, let axis else { return }
            StageBar.draw(line, on: axis, now: .now, painter)
        }
    }

    /// Shows a line, unless it and its axis are unchanged.
    func show(_ line: LoadLine, on axis: StageBar.Axis?, of item: OpaquePointer) {
        guard line.id != self.line?.id || line.revision != self.line?.revision || axis != self.axis else { return }
        let isSame = line.id == self.line?.id && line.revision == self.line?.revision
        (self.line, self.axis) = (line, axis)
        bars.invalidate()
        guard !isSame else { return }
        gtk_label_set_text(title.native, line.title)
        gtk_label_set_text(caption.native, line.caption)
        if case .failed = line.state {
            gtk_widget_add_css_class(caption, "failure")
        } else {
            gtk_widget_remove_css_class(caption, "failure")
        }
        let text = line.spokenText
        widget.setAccessibleLabel(text)
        gwi_list_item_set_accessible_label(item, text)
    }
}
