internal import CWebImageGtk4
import GtkWebImage
import WebImageTesting

/// The image of a widget as its own renderer has drawn it in the last frame, transparent where nothing was drawn.
/// - Returns: `nil` while the widget is not on display.
@MainActor
func rendered(_ widget: UnsafeMutablePointer<GtkWidget>) -> WebImage? {
    guard gtk_widget_get_mapped(widget) != 0 else { return nil }
    let paintable = gtk_widget_paintable_new(widget)!
    defer { g_object_unref(UnsafeMutableRawPointer(paintable)) }
    let (width, height) = (Double(gtk_widget_get_width(widget)), Double(gtk_widget_get_height(widget)))
    let snapshot = gtk_snapshot_new()!
    gdk_paintable_snapshot(paintable, snapshot, width, height)
    // There is no node where there is nothing to draw, as of a card that is seen edge-on.
    guard let node = gtk_snapshot_free_to_node(snapshot) else {
        return transparent(width: Int(width), height: Int(height))
    }
    defer { gsk_render_node_unref(node) }
    let renderer = gtk_native_get_renderer(gtk_widget_get_native(widget))
    var bounds = graphene_rect_t(
        origin: graphene_point_t(x: 0, y: 0),
        size: graphene_size_t(width: Float(width), height: Float(height))
    )
    guard let texture = gsk_renderer_render_texture(renderer, node, &bounds) else { return nil }
    defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
    return WebImage(texture: texture)
}

private func transparent(width: Int, height: Int) -> WebImage? {
    PixelBuffer(size: PixelSize(width: width, height: height), format: .rgbaPremultiplied) { memory in
        memory.initializeMemory(as: UInt8.self, repeating: 0)
    }
    .map { WebImage(pixels: $0) }
}

extension WebImage {
    /// The pixel at a fraction of width and height as 0xRRGGBB, or 0 where nothing was drawn.
    func color(_ x: Double, _ y: Double) -> UInt32 {
        let column = min(Int(Double(pixelSize.width) * x), pixelSize.width - 1)
        let row = min(Int(Double(pixelSize.height) * y), pixelSize.height - 1)
        let offset = row * pixels.bytesPerRow + column * pixels.format.bytesPerPixel
        return pixels.withUnsafeBytes {
            UInt32($0[offset]) << 16 | UInt32($0[offset + 1]) << 8 | UInt32($0[offset + 2])
        }
    }

    /// The number of bytes that differ.
    func difference(from other: WebImage) -> Int {
        guard pixelSize == other.pixelSize else { return .max }
        return pixels.withUnsafeBytes { mine in
            other.pixels.withUnsafeBytes { theirs in zip(mine, theirs).count { $0 != $1 } }
        }
    }
}

/// An image of one colour.
func solid(_ color: UInt32, width: Int = 4, height: Int = 4) -> WebImage {
    let pixels = PixelBuffer(size: PixelSize(width: width, height: height), format: .rgb) { memory in
        for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: color >> (16 - index % 3 * 8)) }
    }
    return WebImage(pixels: pixels!)
}

/// Whether two colours are equal apart from rounding.
func isNear(_ color: UInt32, _ expected: UInt32, within limit: Int = 3) -> Bool {
    [16, 8, 0].allSatisfy { abs(Int(color >> $0 & 255) - Int(expected >> $0 & 255)) <= limit }
}

/// Calls back when a property of an object changes.
@MainActor
func notify(_ object: UnsafeMutablePointer<GtkWidget>, _ property: String, _ body: @escaping @Sendable () -> Void) {
    typealias Callback = @convention(c) (gpointer, gpointer, gpointer) -> Void
    let callback: Callback = { _, _, box in Unmanaged<Notification>.fromOpaque(box).takeUnretainedValue().body() }
    g_signal_connect_data(
        UnsafeMutableRawPointer(object),
        "notify::\(property)",
        unsafeBitCast(callback, to: GCallback.self),
        Unmanaged.passRetained(Notification(body)).toOpaque(),
        { box, _ in Unmanaged<Notification>.fromOpaque(box!).release() },
        GConnectFlags(rawValue: 0)
    )
}

private final class Notification: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}
