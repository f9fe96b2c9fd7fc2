#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Decodes the pixels of frames, one by one, in any order.
package protocol FrameSource: AnyObject, Sendable {
    /// Draws a frame at its place.
    func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError)
}

/// On which frames are put together: transparent at first, colours multiplied by alpha.
package final class FrameCanvas {
    package let size: PixelSize
    /// Red, green, blue and alpha, row after row.
    package let pixels: UnsafeMutablePointer<UInt32>

    /// - Returns: nil when there is no memory.
    package init?(size: PixelSize) {
        guard let memory = calloc(size.pixelCount, 4) else { return nil }
        self.size = size
        pixels = memory.assumingMemoryBound(to: UInt32.self)
    }

    deinit {
        free(pixels)
    }

    /// The first pixel of a row of a rectangle.
    package func row(_ y: Int, of rect: PixelRect) -> UnsafeMutablePointer<UInt32> {
        pixels + (rect.y + y) * size.width + rect.x
    }

    /// Draws pixels, whose colours are multiplied by alpha, over what is there.
    package func blend(_ source: UnsafePointer<UInt32>, _ rect: PixelRect) {
        var source = source
        for y in 0..<rect.size.height {
            let target = row(y, of: rect)
            for x in 0..<rect.size.width {
                let pixel = source[x]
                let alpha = pixel >> 24
                if alpha == 255 { target[x] = pixel } else if alpha > 0 { target[x] = pixel.over(target[x]) }
            }
            source += rect.size.width
        }
    }

    /// Multiplies colours by alpha where a decoder has left them as they are in the file.
    package func multiplyAlpha(in rect: PixelRect) {
        for y in 0..<rect.size.height {
            PixelBuffer.multiplyAlpha(
                in: UnsafeMutableRawBufferPointer(start: row(y, of: rect), count: rect.size.width * 4)
            )
        }
    }

    package func clear() {
        pixels.update(repeating: 0, count: size.pixelCount)
    }

    package func clear(_ rect: PixelRect) {
        for y in 0..<rect.size.height { row(y, of: rect).update(repeating: 0, count: rect.size.width) }
    }

    func save(_ rect: PixelRect, in saved: inout [UInt32]) {
        saved.removeAll(keepingCapacity: true)
        for y in 0..<rect.size.height {
            saved.append(contentsOf: UnsafeBufferPointer(start: row(y, of: rect), count: rect.size.width))
        }
    }

    func restore(_ rect: PixelRect, from saved: [UInt32]) {
        guard saved.count == rect.size.pixelCount else { return }
        saved.withUnsafeBufferPointer { saved in
            for y in 0..<rect.size.height {
                row(y, of: rect).update(from: saved.baseAddress! + y * rect.size.width, count: rect.size.width)
            }
        }
    }

    /// The image as it is now.
    /// - Returns: nil when there is no memory.
    package func picture(
        at target: PixelSize,
        _ orientation: ImageOrientation,
        hasAlpha: Bool
    ) -> PixelBuffer? {
        let rows = PixelRows(
            start: pixels,
            size: size,
            bytesPerRow: size.width * 4,
            layout: hasAlpha ? .premultiplied : .rgbx
        )
        return rows.picture(at: target, orientation)
    }
}
