/// The purpose for which a widget loads an image. Loads of one widget under different keys never disturb each other; a
/// new load under a key ends the one before.
public struct OperationKey: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// A name.
    public let rawValue: String
    /// Makes a key of your own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Makes a key of your own.
    public init(stringLiteral value: String) { rawValue = value }

    /// The image of a widget: what most widgets have only one of.
    public static let image = OperationKey(rawValue: "image")
    /// The image of an image that is highlighted.
    public static let highlightedImage = OperationKey(rawValue: "highlightedImage")
}
