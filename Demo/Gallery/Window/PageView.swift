internal import CWebImageGtk4

/// The view of a page: its title, summary, code and content.
@MainActor
final class PageView {
    let widget: Widget
    let page: Page
    private let content: PageContent

    init(_ page: Page, _ context: PageContext) {
        self.page = page
        content = page.make(context)
        let column = box(GTK_ORIENTATION_VERTICAL, spacing: 18)
        let text = box(
            GTK_ORIENTATION_VERTICAL,
            spacing: 6,
            [label(page.title, "title-2"), label(page.summary, "dim-label"), Self.code(page.code)]
        )
        for part in [text, content.widget] { append(part, to: column) }
        guard !page.isFilling else {
            Self.setMargins(text)
            widget = column
            return
        }
        Self.setMargins(column)
        widget = gtk_scrolled_window_new()
        gtk_scrolled_window_set_policy(OpaquePointer(widget), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        let viewport = gtk_viewport_new(nil, nil)!
        // Images keep their natural height.
        gtk_scrollable_set_vscroll_policy(OpaquePointer(viewport), GTK_SCROLL_NATURAL)
        gtk_viewport_set_child(OpaquePointer(viewport), column)
        gtk_scrolled_window_set_child(OpaquePointer(widget), viewport)
    }

    /// Whether all visible images are loaded or have failed.
    var isAtRest: Bool { content.isAtRest() }

    /// The image wall, if this is its page.
    var wall: ImageWall? { (content.owner as? WallOwner)?.wall }

    private static func setMargins(_ widget: Widget) {
        gtk_widget_set_margin_top(widget, 12)
        gtk_widget_set_margin_bottom(widget, 12)
        gtk_widget_set_margin_start(widget, 12)
        gtk_widget_set_margin_end(widget, 12)
    }

    /// Creates an expander with selectable lines of code.
    private static func code(_ text: String) -> Widget {
        let code = gtk_label_new(text)!
        let native = OpaquePointer(code)
        gtk_label_set_selectable(native, 1)
        gtk_label_set_xalign(native, 0)
        gtk_widget_add_css_class(code, "monospace")
        let scrolled = gtk_scrolled_window_new()!
        gtk_scrolled_window_set_policy(OpaquePointer(scrolled), GTK_POLICY_AUTOMATIC, GTK_POLICY_NEVER)
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), code)
        let expander = gtk_expander_new(tr("Code"))!
        gtk_expander_set_child(OpaquePointer(expander), scrolled)
        // In GTK 4.8 Tab never leaves a collapsed expander with a visible child that takes the focus.
        gtk_widget_set_visible(scrolled, 0)
        connect(OpaquePointer(expander), "notify::expanded", arguments: 1) {
            gtk_widget_set_visible(scrolled, gtk_expander_get_expanded(OpaquePointer(expander)))
        }
        return expander
    }
}
