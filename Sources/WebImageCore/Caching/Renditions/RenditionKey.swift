package import FoundationEssentials

/// Keys of the cache of results: a URL, and what was made of it.
package enum RenditionKey {
    private static let separator: Character = "\u{0}"

    package static func string(url: String, variant: String) -> String { "\(url)\(separator)\(variant)" }

    /// The parts of a key; those of originals have no variant.
    package static func parts(_ key: String) -> (url: Substring, variant: Substring?) {
        guard let index = key.firstIndex(of: separator) else { return (key[...], nil) }
        return (key[..<index], key[key.index(after: index)...])
    }
}

/// Writes decoded images so that they are read again quickly. Called on the decode queue.
package protocol RenditionCoding: Sendable {
    /// The bytes of image; nil when it is not worth them.
    /// - Parameter hasRoom: Whether there is room on disk for quick rather than small.
    func encode(_ image: WebImage, hasRoom: Bool) -> (Data, RenditionInfo.Encoding)?

    /// The pixels of what encode(_:hasRoom:) wrote; nil when it is damaged.
    func decode(_ data: Data, _ info: RenditionInfo) -> PixelBuffer?
}
