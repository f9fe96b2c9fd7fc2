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
