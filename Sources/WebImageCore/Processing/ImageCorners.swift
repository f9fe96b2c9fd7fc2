/// Corners of an image.
public struct ImageCorners: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Top left.
    public static let topLeft = ImageCorners(rawValue: 1)
    /// Top right.
    public static let topRight = ImageCorners(rawValue: 2)
    /// Bottom left.
    public static let bottomLeft = ImageCorners(rawValue: 4)
    /// Bottom right.
    public static let bottomRight = ImageCorners(rawValue: 8)
    /// All four.
    public static let all: ImageCorners = [.topLeft, .topRight, .bottomLeft, .bottomRight]
}
