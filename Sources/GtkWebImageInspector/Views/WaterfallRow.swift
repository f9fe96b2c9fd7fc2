internal import CWebImageGtk4
internal import CWebImageGtkShims

/// The widgets of one line of the waterfall.
@MainActor
final class WaterfallRow {
    let widget: Widget
    private let title = shortened(label(""))
    private let mark = label("", "small", "figures", "warning")
    private let caption = shortened(label("", "small", "figures", "faint"), at: PANGO_ELLIPSIZE_END)
    private let bars = Canvas()
    private var line: LoadLine?
    private var axis: TimeAxis?
    /// The text of the mark, which also changes with time.
    private var markText = ""

    init() {
        gtk_widget_set_size_request(bars.widget, -1, 8)
        gtk_widget_set_hexpand(title, 1)
        let heading = box(GTK_ORIENTATION_HORIZONTAL, [title, mark])
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 3, [heading, caption, bars.widget])
        bars.content.draw = { [weak self] painter in
            guard let self, let line, let axis else { return }
            axis.draw(line, now: .now, painter)
        }
    }

    /// Shows a line, unless it and its axis are unchanged.
    func show(_ line: LoadLine, on axis: TimeAxis, of item: OpaquePointer) {
        let markText = line.mark(now: .now)
        let isSame = line.id == self.line?.id && line.revision == self.line?.revision && markText == self.markText
        guard !isSame || axis != self.axis else { return }
        (self.line, self.axis, self.markText) = (line, axis, markText)
        bars.invalidate()
        guard !isSame else { return }
        gtk_label_set_text(title.native, line.title)
        gtk_label_set_text(mark.native, markText)
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
