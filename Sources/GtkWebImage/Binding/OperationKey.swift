/// The purpose that a widget loads an image for. A new load under a key cancels the previous one under that key. Loads
/// of one widget under different keys do not affect each other.
public struct OperationKey: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name of the key.
    public let rawValue: String
    /// Creates your own key. Keys with equal names are equal.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Creates your own key, as in `let badge: OperationKey = "badge"`.
    public init(stringLiteral value: String) { rawValue = value }

    /// The main image of a widget.
    public static let image = OperationKey(rawValue: "image")
    /// The image that a GtkPicture shows while it is highlighted.
    public static let highlightedImage = OperationKey(rawValue: "highlightedImage")
}
