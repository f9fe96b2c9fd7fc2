import FoundationEssentials

/// The memory-cache key: the source and everything that changes pixels, except the decode size. Images with equal keys differ only
/// in resolution.
package struct ImageKey: Hashable, Sendable {
    /// The key of the original, as ``ImageManager/cacheKey(for:)`` returns it.
    package let source: String
    /// The key of the transformer, combined with every other option that changes pixels.
    let transformer: String
    /// Pixels per application pixel.
    let scale: Double

    package init(_ request: ImageRequest) {
        source = request.sourceKey
        var key = request.transformer?.key ?? ""
        // A request without a display scale is transformed at the scale of the file.
        if let scale = request.displayScale, request.transformer != nil, scale != request.scale {
            key += " on \(scale)"
        }
        // Most requests have none of these options, and building strings is slow.
        if request.hasRareAttributes, let decoder = request.decoder {
            key = "\(String(reflecting: type(of: decoder))) \(key)"
        }
        if !request.convertsToSRGB { key = "raw \(key)" }
        if request.isFirstFrameOnly { key = "still \(key)" }
        if request.hasRareAttributes {
            if let hint = request.formatHint { key = "\(hint.rawValue) \(key)" }
            if !request.appliesOrientation { key = "stored \(key)" }
            if let format = request.pixelFormat { key = "\(format) \(key)" }
            let parameters = request.decoderParameters
            if !parameters.isEmpty { key = "\(CacheKey.text(of: parameters)) \(key)" }
        }
        transformer = key
        scale = request.scale
    }
}

extension ImageKey {
    /// The key of a rendition on disk. Its base is the key of the original, so all renditions of an image can be found by prefix.
    func renditionKey(size: DecodeSize) -> String {
        CacheKey.string(base: source, variant: "\(size.text) \(scale) \(transformer)")
    }
}

/// The keys of the disk cache: a base, such as a URL, and optionally one of its variants.
package enum CacheKey {
    private static let separator: Character = "\u{0}"

    package static func string(base: String, variant: String) -> String { "\(base)\(separator)\(variant)" }

    /// A text of the parameters. Length prefixes make it unique for each set of parameters.
    static func text(of parameters: [String: String]) -> String {
        parameters.sorted { $0.key < $1.key }
            .map { "\($0.key.utf8.count):\($0.key)=\($0.value.utf8.count):\($0.value)" }
            .joined(separator: " ")
    }

    /// Splits a key into its base and variant. Keys of originals have no variant.
    static func parts(of key: String) -> (base: Substring, variant: Substring?) {
        // This runs for every entry, and iterating over characters is slow.
        guard let index = key.utf8.firstIndex(of: 0) else { return (key[...], nil) }
        return (key[..<index], key[key.utf8.index(after: index)...])
    }
}
