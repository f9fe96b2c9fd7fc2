/// A point of an image, as fractions of its width and height: (0, 0) is the top left corner and (1, 1) the bottom right one.
///
/// A crop centers this point, such as a face, as far as the edges of the image allow.
public struct ImagePoint: Hashable, Sendable {
    /// The distance from the left edge, from 0 to 1.
    public let x: Double
    /// The distance from the top edge, from 0 to 1.
    public let y: Double

    /// Makes a point. Coordinates are clamped to 0 through 1; NaN becomes the middle.
    public init(x: Double, y: Double) {
        // Adding 0 turns negative zero into zero, because the two differ in keys.
        self.x = x.bounded(to: 0...1, ifNaN: 0.5) + 0
        self.y = y.bounded(to: 0...1, ifNaN: 0.5) + 0
    }

    /// The middle.
    public static let center = ImagePoint(x: 0.5, y: 0.5)
    /// The middle of the top edge.
    public static let top = ImagePoint(x: 0.5, y: 0)
    /// The middle of the bottom edge.
    public static let bottom = ImagePoint(x: 0.5, y: 1)
    /// The middle of the left edge.
    public static let left = ImagePoint(x: 0, y: 0.5)
    /// The middle of the right edge.
    public static let right = ImagePoint(x: 1, y: 0.5)
    /// The top left corner.
    public static let topLeft = ImagePoint(x: 0, y: 0)
    /// The top right corner.
    public static let topRight = ImagePoint(x: 1, y: 0)
    /// The bottom left corner.
    public static let bottomLeft = ImagePoint(x: 0, y: 1)
    /// The bottom right corner.
    public static let bottomRight = ImagePoint(x: 1, y: 1)
}

extension ImagePoint {
    /// The part of a transformer's key for a point; empty for the middle.
    var keySuffix: String { self == .center ? "" : ",\(x),\(y)" }

    /// The length that is cut off before the visible part.
    /// - Parameters:
    ///   - fraction: The position of the point along the whole length.
    ///   - shown: The length of the visible part, at most the whole length.
    package static func overhang(at fraction: Double, showing shown: Double, of whole: Double) -> Double {
        min(max(fraction * whole - shown / 2, 0), max(whole - shown, 0))
    }

    /// The part of an image whose middle is as near to the point as possible.
    /// - Parameter size: The size of the part, at most the size of the image.
    func rect(of size: PixelSize, in image: PixelSize) -> PixelRect {
        func start(at fraction: Double, showing shown: Int, of whole: Int) -> Int {
            Int(bounded: Self.overhang(at: fraction, showing: Double(shown), of: Double(whole)))
        }
        return PixelRect(
            x: start(at: x, showing: size.width, of: image.width),
            y: start(at: y, showing: size.height, of: image.height),
            width: size.width,
            height: size.height
        )
    }
}
