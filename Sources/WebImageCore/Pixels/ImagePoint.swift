/// A point of an image, as fractions of its width and height: (0, 0) is the top left corner and (1, 1) the bottom right one.
///
/// A crop keeps the point that matters, such as a face, as near to its middle as the edges of the image allow.
public struct ImagePoint: Hashable, Sendable {
    /// The distance from the left edge, from 0 to 1.
    public let x: Double
    /// The distance from the top edge, from 0 to 1.
    public let y: Double

    /// Makes a point. Coordinates beyond the edges are taken to them, and NaN for the middle.
    public init(x: Double, y: Double) {
        // The sum makes the negative zero a positive one, which is written in another way in keys.
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
    /// What the key of a transformer says of a point; nothing of the middle.
    var keySuffix: String { self == .center ? "" : ",\(x),\(y)" }

    /// How much of a length is left out before the part that is shown.
    /// - Parameters:
    ///   - fraction: The place of the point along the length.
    ///   - shown: The length of the part, at most the whole.
    package static func overhang(at fraction: Double, showing shown: Double, of whole: Double) -> Double {
        min(max(fraction * whole - shown / 2, 0), max(whole - shown, 0))
    }

    /// The part of an image with the point as near to its middle as possible.
    /// - Parameter size: The size of the part, at most that of the image.
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
