/// A size in pixels. GTK's application pixels are pixels divided by the scale factor.
public struct PixelSize: Hashable, Codable, Sendable {
    /// Pixels from left to right.
    public var width: Int
    /// Pixels from top to bottom.
    public var height: Int

    /// Makes a size of `width` by `height` pixels.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The size with width and height swapped.
    package var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// Whether the size has no pixels.
    package var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The size in device pixels of one in application pixels, of which a fraction counts as a whole one.
    package func scaled(by scale: Double) -> PixelSize {
        PixelSize(
            width: Int((Double(width) * scale).rounded(.up)),
            height: Int((Double(height) * scale).rounded(.up))
        )
    }

    /// The number of pixels. It saturates, so that a malicious header cannot cause an overflow.
    package var pixelCount: Int {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : product
    }
}

extension PixelSize: CustomStringConvertible {
    /// The width and the height with an x between them, such as `640x480`.
    public var description: String { "\(width)x\(height)" }
}

/// A rectangle of pixels, measured from the upper left corner.
package struct PixelRect: Hashable, Sendable {
    package var x: Int
    package var y: Int
    package var size: PixelSize

    package init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y) = (x, y)
        size = PixelSize(width: width, height: height)
    }

    /// Whether the rectangle is exactly the area of a canvas.
    package func covers(_ canvas: PixelSize) -> Bool { x == 0 && y == 0 && size == canvas }

    /// Whether the rectangle is not empty and lies within a canvas.
    package func isInside(_ canvas: PixelSize) -> Bool {
        x >= 0 && y >= 0 && !size.isEmpty && x <= canvas.width - size.width && y <= canvas.height - size.height
    }

    /// Returns the part of the rectangle that lies on a canvas; `nil` if there is none.
    package func clipped(to canvas: PixelSize) -> PixelRect? {
        let (left, top) = (max(x, 0), max(y, 0))
        let width = min(x + size.width, canvas.width) - left
        let height = min(y + size.height, canvas.height) - top
        return width > 0 && height > 0 ? PixelRect(x: left, y: top, width: width, height: height) : nil
    }
}
