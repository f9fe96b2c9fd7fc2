import FoundationEssentials

/// Under what a picture is found in the memory cache: what was loaded and what was done to it, but not the size, for
/// pictures of the same key differ in nothing but the size they were decoded at.
package struct ImageKey: Hashable, Sendable {
    /// The key of the bytes: the URL.
    package let source: String
    /// The key of the transformer, or empty; before it what else makes other pixels of the same bytes.
    package let transformer: String
    /// Pixels per application pixel.
    package let scale: Double

    package init(_ request: ImageRequest) {
        source = request.url.absoluteString
        let key = request.transformer?.key ?? ""
        let decoded = request.decoder.map { "\(String(reflecting: type(of: $0))) \(key)" } ?? key
        transformer = request.options.contains(.ignoreColorProfile) ? "raw \(decoded)" : decoded
        scale = request.scale
    }
}
