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
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// Whether the size has no pixels.
    public var isEmpty: Bool { width <= 0 || height <= 0 }

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
