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

    /// The size in device pixels of a size in application pixels, rounded up.
    package func scaled(by scale: Double) -> PixelSize {
        PixelSize(
            width: Int(bounded: (Double(width) * scale).rounded(.up)),
            height: Int(bounded: (Double(height) * scale).rounded(.up))
        )
    }

    /// The number of pixels. It saturates, so a malicious header cannot cause an overflow.
    package var pixelCount: Int { width.boundedProduct(height) }

    /// The size with each side clamped to 1 through the largest 32-bit integer, as in GTK.
    package var bounded: PixelSize {
        PixelSize(width: min(max(width, 1), Int(Int32.max)), height: min(max(height, 1), Int(Int32.max)))
    }

    /// The default limit of pixels: 134 million, enough for photographs of 108 megapixels.
    static let standardLimit = 1 << 27

    /// Whether a transformer may make an image of this size from another size: it has at most as many pixels, or at most the
    /// default limit.
    func isReachable(from other: PixelSize) -> Bool { pixelCount <= max(other.pixelCount, Self.standardLimit) }
}

extension MessageCoder {
    /// A size, which may be empty.
    package mutating func code(_ size: inout PixelSize) throws(Malformed) {
        try code(&size.width)
        try code(&size.height)
    }
}

extension PixelSize: CustomStringConvertible {
    /// The width and the height with an x between them, such as `640x480`.
    public var description: String { "\(width)x\(height)" }
}

/// A rectangle of pixels, measured from the upper left corner of an image.
public struct PixelRect: Hashable, Sendable {
    /// The leftmost column.
    public var x: Int
    /// The topmost row.
    public var y: Int
    /// Width and height in pixels.
    public var size: PixelSize

    /// Makes a rectangle of `width` by `height` pixels.
    public init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y) = (x, y)
        size = PixelSize(width: width, height: height)
    }

    /// Whether the rectangle is exactly the area of a canvas.
    package func covers(_ canvas: PixelSize) -> Bool { x == 0 && y == 0 && size == canvas }

    /// Whether the rectangle is not empty and lies within a canvas.
    package func isInside(_ canvas: PixelSize) -> Bool {
        x >= 0 && y >= 0 && !size.isEmpty && x <= canvas.width - size.width && y <= canvas.height - size.height
    }

    /// The part of the rectangle on a canvas; `nil` if there is none.
    package func clipped(to canvas: PixelSize) -> PixelRect? {
        let (left, top) = (max(x, 0), max(y, 0))
        let width = min(x.boundedSum(size.width), canvas.width) - left
        let height = min(y.boundedSum(size.height), canvas.height) - top
        return width > 0 && height > 0 ? PixelRect(x: left, y: top, width: width, height: height) : nil
    }
}
