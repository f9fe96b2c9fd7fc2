internal import CWebImageAdwaita
internal import CWebImageGtk4

/// The view of a page: its summary and content. The header of the window has the title.
@MainActor
final class PageView {
    /// The width in application pixels up to which lines are read with ease.
    private static let readableWidth: Int32 = 860

    let widget: Widget
    let page: Page
    private let content: PageContent

    init(_ page: Page, _ context: PageContext) {
        self.page = page
        content = page.make(context)
        let summary = label(page.summary, "dim-label")
        let column = box(GTK_ORIENTATION_VERTICAL, spacing: 18, [summary, content.widget])
        guard !page.isFilling else {
            setMargins(of: summary, 12)
            gtk_widget_set_margin_bottom(summary, 0)
            widget = column
            return
        }
        setMargins(of: column, 12)
        let clamp = adw_clamp_new()!
        adw_clamp_set_maximum_size(OpaquePointer(clamp), Self.readableWidth)
        adw_clamp_set_tightening_threshold(OpaquePointer(clamp), Self.readableWidth)
        adw_clamp_set_child(OpaquePointer(clamp), column)
        widget = gtk_scrolled_window_new()
        gtk_scrolled_window_set_policy(OpaquePointer(widget), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        let viewport = gtk_viewport_new(nil, nil)!
        // Images keep their natural height.
        gtk_scrollable_set_vscroll_policy(OpaquePointer(viewport), GTK_SCROLL_NATURAL)
        gtk_viewport_set_scroll_to_focus(OpaquePointer(viewport), 1)
        gtk_viewport_set_child(OpaquePointer(viewport), clamp)
        gtk_scrolled_window_set_child(OpaquePointer(widget), viewport)
    }

    /// Whether all visible images are loaded or have failed.
    var isAtRest: Bool { content.isAtRest() }

    /// The content of the page of the wall, if this is that page.
    var wallStage: WallStage? { content.owner as? WallStage }
    /// The image wall, if this is its page.
    var wall: ImageWall? { wallStage?.wall }
}
