/// A line along the edge of an image.
public struct ImageBorder: Hashable, Sendable {
    /// In application pixels.
    public var width: Double
    /// Its colour.
    public var color: ImageColor

    /// Makes a border.
    public init(width: Double, color: ImageColor) {
        self.width = width
        self.color = color
    }
}
