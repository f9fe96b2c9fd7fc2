internal import CWebImageAdwaita
internal import CWebImageGtk4

/// The source of the open page, with the lines of its sample marked.
@MainActor
final class SourcePane {
    /// Owned, since the pane beside the page lets go of it whenever something else is shown there.
    private let owned: OwnedWidget
    private let view = OpaquePointer(gtk_text_view_new()!)
    private let buffer: UnsafeMutablePointer<GtkTextBuffer>
    private let title = label("", "heading")
    private var tags: [SwiftHighlighter.Kind: UnsafeMutablePointer<GtkTextTag>] = [:]
    private let sampleTag = gtk_text_tag_new("sample")!
    private var pageID: String?
    /// The number of further frames in which a line may scroll into view.
    private var framesForScroll = 0

    init() {
        buffer = gtk_text_view_get_buffer(cast(view))
        let scrolled = gtk_scrolled_window_new()!
        owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL, spacing: 0, [Self.bar(title), scrolled]))
        gtk_widget_set_hexpand(widget, 0)
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), cast(view))
        gtk_widget_set_vexpand(scrolled, 1)
        gtk_widget_set_size_request(widget, Self.leastWidth, -1)
        gtk_text_view_set_editable(cast(view), 0)
        gtk_text_view_set_cursor_visible(cast(view), 0)
        gtk_text_view_set_monospace(cast(view), 1)
        // Tab goes on to the next control.
        gtk_text_view_set_accepts_tab(cast(view), 0)
        for margin in [gtk_text_view_set_left_margin, gtk_text_view_set_right_margin, gtk_text_view_set_bottom_margin] {
            margin(cast(view), 12)
        }
        setName(cast(view), tr("Source of the page"))
        makeTags()
        connect(adw_style_manager_get_default(), "notify::dark", arguments: 1) { [weak self] in self?.updateColors() }
        append(copyButton(), to: gtk_widget_get_first_child(widget)!)
    }

    var widget: Widget { owned.widget }

    /// Shows the source of a page.
    func show(_ page: Page) {
        guard page.id != pageID else { return }
        pageID = page.id
        let source = PageSource(of: page)
        setText(title, page.files.first ?? page.title)
        gtk_text_buffer_set_text(buffer, source.text, -1)
        for part in SwiftHighlighter.parts(of: source.text) {
            guard let tag = tags[part.kind] else { continue }
            var (start, end) = (iterator(at: part.range.lowerBound), iterator(at: part.range.upperBound))
            gtk_text_buffer_apply_tag(buffer, tag, &start, &end)
        }
        for number in source.sampleLines {
            var (start, end) = (GtkTextIter(), GtkTextIter())
            gtk_text_buffer_get_iter_at_line(buffer, &start, Int32(number))
            gtk_text_buffer_get_iter_at_line(buffer, &end, Int32(number + 1))
            gtk_text_buffer_apply_tag(buffer, sampleTag, &start, &end)
        }
        showLine(source.sampleLines.first ?? 0)
    }

    // Widgets

    private static let leastWidth: Int32 = 300

    private static func bar(_ title: Widget) -> Widget {
        gtk_widget_set_hexpand(title, 1)
        gtk_label_set_wrap(OpaquePointer(title), 0)
        gtk_label_set_ellipsize(OpaquePointer(title), PANGO_ELLIPSIZE_END)
        let bar = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [title])
        gtk_widget_set_margin_start(bar, 12)
        gtk_widget_set_margin_end(bar, 6)
        gtk_widget_set_margin_top(bar, 6)
        gtk_widget_set_margin_bottom(bar, 6)
        return bar
    }

    private func copyButton() -> Widget {
        let copy = button(icon: "edit-copy-symbolic", tr("Copy the source")) { [weak self] in self?.copy() }
        gtk_widget_add_css_class(copy, "flat")
        return copy
    }

    /// What is shown.
    var text: String {
        var (start, end) = (GtkTextIter(), GtkTextIter())
        gtk_text_buffer_get_bounds(buffer, &start, &end)
        let text = gtk_text_buffer_get_text(buffer, &start, &end, 0)!
        defer { g_free(text) }
        return String(cString: text)
    }

    private func copy() {
        gdk_clipboard_set_text(gtk_widget_get_clipboard(widget), text)
        showToast(tr("The source is in the clipboard"), in: widget)
    }

    private func iterator(at offset: Int) -> GtkTextIter {
        var iterator = GtkTextIter()
        gtk_text_buffer_get_iter_at_offset(buffer, &iterator, Int32(offset))
        return iterator
    }

    /// Scrolls to a line, with some lines above it.
    private func showLine(_ number: Int) {
        var iterator = GtkTextIter()
        gtk_text_buffer_get_iter_at_line(buffer, &iterator, Int32(max(0, number - 3)))
        gtk_text_buffer_place_cursor(buffer, &iterator)
        // Lines get their heights over several frames, and a scroll before then goes nowhere.
        framesForScroll = 60
        gtk_widget_add_tick_callback(
            cast(view),
            { _, _, pane in
                let pane = Unmanaged<SourcePane>.fromOpaque(pane!).takeUnretainedValue()
                return MainActor.assumeIsolated { pane.scrollToCursor() } ? 0 : 1
            },
            Unmanaged.passRetained(self).toOpaque(),
            { Unmanaged<SourcePane>.fromOpaque($0!).release() }
        )
    }

    /// - Returns: Whether the line with the cursor is on screen, or is not to be had there.
    private func scrollToCursor() -> Bool {
        framesForScroll -= 1
        guard framesForScroll > 0 else { return true }
        guard gtk_widget_get_height(cast(view)) > 0 else { return false }
        var (cursor, line, visible) = (GtkTextIter(), GdkRectangle(), GdkRectangle())
        gtk_text_buffer_get_iter_at_mark(buffer, &cursor, gtk_text_buffer_get_insert(buffer))
        gtk_text_view_get_iter_location(cast(view), &cursor, &line)
        gtk_text_view_get_visible_rect(cast(view), &visible)
        let isVisible = line.y >= visible.y && line.y + line.height <= visible.y + visible.height
        if isVisible, visible.y > 0 { return true }
        // Aligned to the end of the pane, the start of the line cannot scroll, and keeps the margin beside it.
        gtk_text_view_scroll_to_mark(cast(view), gtk_text_buffer_get_insert(buffer), 0, 1, 1, 0)
        return false
    }

    // Colours

    private func makeTags() {
        let table = gtk_text_buffer_get_tag_table(buffer)
        gtk_text_tag_table_add(table, sampleTag)
        for kind in SwiftHighlighter.Kind.allCases {
            let tag = gtk_text_tag_new("\(kind)")!
            gtk_text_tag_table_add(table, tag)
            tags[kind] = tag
        }
        updateColors()
    }

    /// The colours come from the palette of GNOME, and have a contrast of more than 4.5 to their background.
    private func updateColors() {
        let isDark = adw_style_manager_get_dark(adw_style_manager_get_default()) != 0
        for (kind, tag) in tags {
            let colors =
                switch kind {
                case .keyword: (light: "#813d9c", dark: "#dc8add")
                case .type: (light: "#a04100", dark: "#ffbe6f")
                case .string: (light: "#1a7a4f", dark: "#8ff0a4")
                case .number: (light: "#1a5fb4", dark: "#99c1f1")
                case .comment: (light: "#5e5c64", dark: "#b5b3b0")
                }
            set("foreground", of: tag, to: isDark ? colors.dark : colors.light)
        }
        set("paragraph-background", of: sampleTag, to: isDark ? "rgba(120,174,237,0.18)" : "rgba(53,132,228,0.12)")
    }

    private func set(_ property: String, of tag: UnsafeMutablePointer<GtkTextTag>, to text: String) {
        var value = GValue()
        g_value_init(&value, g_type_from_name("gchararray"))
        g_value_set_string(&value, text)
        g_object_set_property(cast(OpaquePointer(tag)), property, &value)
        g_value_unset(&value)
    }
}
