/// Corners of an image.
public struct ImageCorners: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The top left corner.
    public static let topLeft = ImageCorners(rawValue: 1)
    /// The top right corner.
    public static let topRight = ImageCorners(rawValue: 2)
    /// The bottom left corner.
    public static let bottomLeft = ImageCorners(rawValue: 4)
    /// The bottom right corner.
    public static let bottomRight = ImageCorners(rawValue: 8)
    /// All four corners.
    public static let all: ImageCorners = [.topLeft, .topRight, .bottomLeft, .bottomRight]
}
