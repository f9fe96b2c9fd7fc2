import Glibc

/// Decodes the pixels of single frames, in any order.
package protocol FrameSource: Sendable {
    /// Whether each frame is drawn after the one before it, even if it covers that. Default: no.
    var isSequential: Bool { get }

    /// Decodes a frame and draws it onto the canvas at its position.
    func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError)
}

extension FrameSource {
    package var isSequential: Bool { false }
}

/// The canvas on which the frames of an animation are composed. It starts transparent; alpha is premultiplied.
package final class FrameCanvas {
    package let size: PixelSize
    /// RGBA pixels, row after row.
    package let pixels: UnsafeMutablePointer<UInt32>
    /// Draws the next frame of a source that decodes frames in their order only. Players share no canvas, hence no decoder.
    package var decoder: ((FrameCanvas) throws(ImageError) -> Void)?
    /// Whether an image has taken over the memory.
    private var isTaken = false

    /// - Returns: `nil` if memory runs out.
    package init?(size: PixelSize) {
        guard let memory = calloc(size.pixelCount, 4) else { return nil }
        self.size = size
        pixels = memory.assumingMemoryBound(to: UInt32.self)
    }

    deinit {
        if !isTaken { free(pixels) }
    }

    /// Returns the first pixel of one row of a rectangle.
    package func row(_ y: Int, of rect: PixelRect) -> UnsafeMutablePointer<UInt32> {
        pixels + (rect.y + y) * size.width + rect.x
    }

    /// Blends premultiplied pixels over the canvas.
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

    /// Premultiplies a rectangle into which a decoder has written straight alpha.
    package func multiplyAlpha(in rect: PixelRect) {
        for y in 0..<rect.size.height {
            PixelBuffer.multiplyAlpha(
                in: UnsafeMutableRawBufferPointer(start: row(y, of: rect), count: rect.size.width * 4)
            )
        }
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

    /// Turns the canvas into an image that uses its memory. The canvas must not be used afterwards.
    package func takePixels(hasAlpha: Bool) -> PixelBuffer {
        isTaken = true
        guard !hasAlpha else { return PixelBuffer(adopting: pixels, size: size, format: .rgbaPremultiplied) }
        PixelBuffer.pack(pixels, into: pixels, size.pixelCount)
        // Shrinking does not fail, and does not copy large blocks.
        let start = realloc(pixels, size.pixelCount * 3) ?? UnsafeMutableRawPointer(pixels)
        return PixelBuffer(adopting: start, size: size, format: .rgb)
    }
}
