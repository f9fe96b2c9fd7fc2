/// A line along the edge of an image.
public struct ImageBorder: Hashable, Sendable {
    /// The width in application pixels.
    public var width: Double
    /// The colour of the line.
    public var color: ImageColor

    /// Makes a border.
    public init(width: Double, color: ImageColor) {
        self.width = width
        self.color = color
    }
}
