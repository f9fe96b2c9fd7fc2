/// The format of an image file, recognized by its content and never by its name.
public struct ImageFormat: RawRepresentable, Hashable, Sendable {
    /// A short lower-case name, such as `jpeg`.
    public let rawValue: String
    /// Makes the format of an app's own decoder or encoder, under a name that no other format has.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The name in messages: in capitals, but for a media type.
    package var name: String { rawValue.contains("/") ? rawValue : rawValue.uppercased() }

    /// An unknown format, or no image.
    public static let unknown = ImageFormat(rawValue: "unknown")
}
