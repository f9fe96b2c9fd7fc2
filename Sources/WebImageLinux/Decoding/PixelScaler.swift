internal import CWebImageGLib
internal import CWebImagePixbuf
import WebImageCore

/// Scales decoded rows down and turns them upright.
enum PixelScaler {
    /// Scales opaque pixels.
    /// - Parameters:
    ///   - size: Before the picture is turned.
    ///   - orientation: How it is turned afterwards.
    /// - Returns: `nil` when there is no memory.
    static func scale(_ pixels: PixelBuffer, to size: PixelSize, _ orientation: ImageOrientation) -> PixelBuffer? {
        let rows = PixelRows(
            start: pixels.baseAddress,
            size: pixels.size,
            bytesPerRow: pixels.bytesPerRow,
            layout: .rgb
        )
        return withExtendedLifetime(pixels) { scale(rows, to: size, orientation) }
    }

    /// The same for rows that a decoder has left.
    static func scale(_ rows: PixelRows, to size: PixelSize, _ orientation: ImageOrientation) -> PixelBuffer? {
        guard rows.size != size else { return PixelBuffer(rows, orientation: orientation) }
        let shrinks = size.width <= rows.size.width && size.height <= rows.size.height
        guard rows.layout == .rgb, shrinks else {
            return withPixbuf(rows, scaledTo: size) { PixelBuffer($0, orientation: orientation) }
        }
        let small = PixelBuffer(size: size, format: .rgb) { memory in
            AreaScaler.scale(rows, to: size, into: memory.bindMemory(to: UInt8.self).baseAddress!)
        }
        guard let small, orientation != .up else { return small }
        let turned = PixelRows(start: small.baseAddress, size: size, bytesPerRow: small.bytesPerRow, layout: .rgb)
        return withExtendedLifetime(small) { PixelBuffer(turned, orientation: orientation) }
    }

    /// With gdk-pixbuf, which weighs colours by their alpha.
    private static func withPixbuf<R>(_ rows: PixelRows, scaledTo size: PixelSize, _ body: (PixelRows) -> R?) -> R? {
        // gdk-pixbuf does not write to it.
        let start = UnsafeMutablePointer(mutating: rows.start.assumingMemoryBound(to: UInt8.self))
        let (width, height) = (Int32(rows.size.width), Int32(rows.size.height))
        let hasAlpha: gboolean = rows.layout == .rgb ? 0 : 1
        let stride = Int32(rows.bytesPerRow)
        guard
            let whole = gdk_pixbuf_new_from_data(
                start,
                GDK_COLORSPACE_RGB,
                hasAlpha,
                8,
                width,
                height,
                stride,
                nil,
                nil
            )
        else { return nil }
        defer { g_object_unref(UnsafeMutableRawPointer(whole)) }
        let small = gdk_pixbuf_scale_simple(whole, Int32(size.width), Int32(size.height), GDK_INTERP_BILINEAR)
        guard let small else { return nil }
        defer { g_object_unref(UnsafeMutableRawPointer(small)) }
        return body(
            PixelRows(
                start: gdk_pixbuf_read_pixels(small),
                size: size,
                bytesPerRow: Int(gdk_pixbuf_get_rowstride(small)),
                layout: rows.layout
            )
        )
    }
}
