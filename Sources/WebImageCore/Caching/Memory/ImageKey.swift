import FoundationEssentials

/// Under what an image is found in the memory cache: what was loaded and what was done to it, but not the size, for
/// images of the same key differ in nothing but the size they were decoded at.
package struct ImageKey: Hashable, Sendable {
    /// The key of the bytes: the URL.
    package let source: String
    /// The key of the transformer, or empty; before it what else makes other pixels of the same bytes.
    package let transformer: String
    /// Pixels per application pixel.
    package let scale: Double

    package init(_ request: ImageRequest) {
        source = request.sourceKey
        var key = request.transformer?.key ?? ""
        if let scale = request.displayScale, request.transformer != nil { key += " on \(scale)" }
        // Most requests have nothing of this, and strings take their time.
        if let decoder = request.decoder { key = "\(String(reflecting: type(of: decoder))) \(key)" }
        if !request.convertsToSRGB { key = "raw \(key)" }
        if request.isFirstFrameOnly { key = "still \(key)" }
        if let hint = request.formatHint { key = "\(hint.rawValue) \(key)" }
        if let format = request.pixelFormat { key = "\(format) \(key)" }
        transformer = key
        scale = request.scale
    }
}
