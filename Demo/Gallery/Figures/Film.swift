internal import CWebImageGtk4
internal import CWebImageGtkShims
import GtkWebImage

/// What a widget draws, frame by frame. It keeps the nodes of GSK, since to render them takes longer than a frame.
@MainActor
final class Film {
    private let widget: Widget
    private var loop: FrameLoop?
    private var shots: [(time: Int64, node: OpaquePointer)] = []

    /// Starts filming a widget in a window.
    init(_ widget: Widget) {
        self.widget = widget
        loop = FrameLoop(widget, update: { _ in }) { [weak self] time in
            guard let self, let node = Screenshot.draw(widget) else { return }
            shots.append((time, node))
            // A widget at rest would not be drawn again.
            gtk_widget_queue_draw(widget)
        }
    }

    /// The number of frames so far.
    var count: Int { shots.count }

    /// Ends the film, which is empty then.
    func stop() {
        loop?.stop()
        loop = nil
        for shot in shots { gsk_render_node_unref(shot.node) }
        shots = []
    }

    /// The time of a frame in microseconds.
    func time(of frame: Int) -> Int64 { shots[frame].time }

    /// Renders the frame that is nearest to a time in microseconds.
    /// - Returns: The frame and how far it is from the time.
    func frame(nearest time: Int64) throws -> (image: WebImage, distance: Int64) {
        guard let shot = shots.min(by: { abs($0.time - time) < abs($1.time - time) }) else {
            throw Screenshot.Failure(description: "The widget has not been drawn.")
        }
        return (try render(shot.node), abs(shot.time - time))
    }

    /// Renders the last frame.
    func lastFrame() throws -> WebImage { try frame(nearest: .max / 2).image }

    private func render(_ node: OpaquePointer) throws -> WebImage {
        var area = graphene_rect_t()
        let scale = Float(gwi_widget_get_scale(widget))
        let (width, height) = (Float(gtk_widget_get_width(widget)), Float(gtk_widget_get_height(widget)))
        graphene_rect_init(&area, 0, 0, width * scale, height * scale)
        let renderer = gtk_native_get_renderer(gtk_widget_get_native(widget))
        guard let texture = gsk_renderer_render_texture(renderer, node, &area) else {
            throw Screenshot.Failure(description: "The renderer returned no image of the widget.")
        }
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        guard let image = WebImage(texture: texture) else {
            throw Screenshot.Failure(description: "There is no memory for an image of the widget.")
        }
        return image
    }
}
