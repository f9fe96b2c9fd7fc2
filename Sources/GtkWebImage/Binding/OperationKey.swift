/// The purpose for which a widget loads an image. A new load under a key cancels the previous one under that key; loads
/// of one widget under different keys never affect each other.
public struct OperationKey: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name of the key.
    public let rawValue: String
    /// Creates a key of the app. Keys with equal names are equal.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Creates a key of the app, as in `let badge: OperationKey = "badge"`.
    public init(stringLiteral value: String) { rawValue = value }

    /// The main image of a widget.
    public static let image = OperationKey(rawValue: "image")
    /// The image that a GtkPicture shows while it is highlighted.
    public static let highlightedImage = OperationKey(rawValue: "highlightedImage")
}
