internal import CWebImageGtk4
import WebImageLinux

/// A canvas above the content of a window, without effect on its layout and input.
///
/// The canvas is a child of the window itself: GtkWindow draws all its children, but lays out only its content and title bar. So no
/// widget of the app changes its parent, which would cancel loads. The layer gets its size after each layout of the window.
@MainActor
final class OverlayLayer {
    let canvas = Canvas()
    /// Called after each layout of the window, which may have moved widgets.
    var onLayout: () -> Void = {}

    private let window: Widget
    private let clock: GObjectBox
    private var handler: UInt?

    init(_ window: Widget, _ clock: OpaquePointer) {
        self.window = window
        self.clock = GObjectBox(retaining: UnsafeMutableRawPointer(clock))
        gtk_widget_set_can_focus(canvas.widget, 0)
        gtk_widget_insert_before(canvas.widget, window, nil)
        handler = self.clock.pointer.connect("layout", phase: .afterDefault) { [weak self] in self?.allocate() }
        gtk_widget_queue_allocate(window)
    }

    /// Removes the layer from the window.
    func remove() {
        guard let handler = handler.take() else { return }
        clock.pointer.disconnect(handler)
        gtk_widget_unparent(canvas.widget)
    }

    private func allocate() {
        // Content that the app sets later would cover the layer.
        if gtk_widget_get_next_sibling(canvas.widget) != nil { gtk_widget_insert_before(canvas.widget, window, nil) }
        let (width, height) = (gtk_widget_get_width(window), gtk_widget_get_height(window))
        gtk_widget_allocate(canvas.widget, width, height, -1, nil)
        onLayout()
    }
}
