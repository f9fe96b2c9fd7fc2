/// The format of an image file, recognized from its content and never from its name.
public struct ImageFormat: RawRepresentable, Hashable, Sendable {
    /// A short lower-case name, such as `jpeg`.
    public let rawValue: String
    /// Creates the format of your own decoder or encoder. Use a name that no other format has.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name in messages: in capitals, except for a media type.
    package var name: String { rawValue.contains("/") ? rawValue : rawValue.uppercased() }

    /// An unknown format, or no image.
    public static let unknown = ImageFormat(rawValue: "unknown")
}
