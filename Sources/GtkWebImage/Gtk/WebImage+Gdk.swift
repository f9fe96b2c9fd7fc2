internal import CWebImageGtk4
public import WebImageCore

// Conversions to and from GdkPixbuf and GdkTexture. The pointers may come from C or from any Swift binding.
extension WebImage {
    /// Copies the pixels of a GdkPixbuf, on any thread.
    /// - Returns: `nil` if memory runs out, or if the pixbuf is not 8-bit RGB.
    public init?(pixbuf: OpaquePointer, scale: Double = 1) {
        guard gdk_pixbuf_get_colorspace(pixbuf) == GDK_COLORSPACE_RGB, gdk_pixbuf_get_bits_per_sample(pixbuf) == 8
        else {
            return nil
        }
        let rows = PixelRows(
            start: gdk_pixbuf_read_pixels(pixbuf),
            size: PixelSize(width: Int(gdk_pixbuf_get_width(pixbuf)), height: Int(gdk_pixbuf_get_height(pixbuf))),
            bytesPerRow: Int(gdk_pixbuf_get_rowstride(pixbuf)),
            layout: gdk_pixbuf_get_has_alpha(pixbuf) != 0 ? .rgba : .rgb
        )
        guard let pixels = PixelBuffer(rows, orientation: .up) else { return nil }
        self.init(pixels: pixels, scale: scale)
    }

    /// Copies the pixels of a GdkTexture, which may be downloaded from the graphics card.
    /// - Returns: `nil` if memory runs out.
    @preconcurrency @MainActor
    public init?(texture: OpaquePointer, scale: Double = 1) {
        let size = PixelSize(width: Int(gdk_texture_get_width(texture)), height: Int(gdk_texture_get_height(texture)))
        let pixels = PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            gdk_texture_download(texture, memory.bindMemory(to: UInt8.self).baseAddress, gsize(size.width * 4))
            // gdk_texture_download writes Cairo's order: blue, green, red, alpha on a little-endian machine.
            for pixel in memory.bindMemory(to: UInt32.self).indices {
                let color = memory.bindMemory(to: UInt32.self)[pixel]
                memory.bindMemory(to: UInt32.self)[pixel] =
                    color & 0xFF00_FF00 | color >> 16 & 0xFF | (color & 0xFF) << 16
            }
        }
        guard let pixels else { return nil }
        self.init(pixels: pixels, scale: scale)
    }

    /// Returns a GdkTexture that shares the pixels of the image, on any thread. You own the reference and must drop it
    /// on the main thread (g_object_unref).
    public func makeTexture() -> OpaquePointer {
        OpaquePointer(g_object_ref(UnsafeMutableRawPointer(texture.pointer))!)
    }

    /// Returns a new GdkPixbuf with a copy of the pixels, on any thread. You own the reference (g_object_unref).
    /// - Returns: `nil` if memory runs out.
    public func makePixbuf() -> OpaquePointer? {
        let (size, hasAlpha) = (pixelSize, pixels.hasAlpha)
        let made = gdk_pixbuf_new(GDK_COLORSPACE_RGB, hasAlpha ? 1 : 0, 8, Int32(size.width), Int32(size.height))
        guard let pixbuf = made, let target = gdk_pixbuf_get_pixels(pixbuf) else { return nil }
        let (stride, count) = (Int(gdk_pixbuf_get_rowstride(pixbuf)), pixels.bytesPerRow)
        func copy(_ source: UnsafePointer<UInt8>?) {
            guard let source else { return }
            for y in 0..<size.height { (target + y * stride).update(from: source + y * count, count: count) }
        }
        if hasAlpha {
            guard pixels.withStraightAlpha({ copy($0.baseAddress) }) != nil else {
                g_object_unref(UnsafeMutableRawPointer(pixbuf))
                return nil
            }
        } else {
            pixels.withUnsafeBytes { copy($0.bindMemory(to: UInt8.self).baseAddress) }
        }
        return pixbuf
    }
}
