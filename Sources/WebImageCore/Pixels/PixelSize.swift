/// A size in pixels, as opposed to GTK's application pixels, which are pixels divided by the scale factor.
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

    /// The same size lying on its side.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// Whether there is no pixel in it.
    public var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The number of pixels, saturating instead of overflowing, so that a lying header cannot trap.
    package var pixelCount: Int {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : product
    }
}

extension PixelSize: CustomStringConvertible {
    /// For example `640x480`.
    public var description: String { "\(width)x\(height)" }
}
