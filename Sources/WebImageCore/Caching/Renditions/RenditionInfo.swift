package import FoundationEssentials

/// What a decoded image in the cache of results is.
package struct RenditionInfo: Codable, Sendable, Hashable {
    /// How the pixels are written.
    package enum Encoding: String, Codable, Sendable {
        /// As they are in memory.
        case raw
        /// Packed without loss.
        case zstd
        /// As a JPEG.
        case jpeg
    }

    package var encoding: Encoding
    package var hasAlpha: Bool
    package var size: PixelSize
    package var naturalSize: PixelSize
    package var sourceSize: PixelSize
    package var decodedSize: PixelSize
    package var scale: Double
    package var format: String
    package var orientation: Int?
    /// ``CacheEntry/storedAt`` of the bytes that it was decoded from.
    package var source: Date

    package init(_ image: WebImage, encoding: Encoding, source: Date) {
        self.encoding = encoding
        self.source = source
        hasAlpha = image.pixels.hasAlpha
        size = image.pixelSize
        naturalSize = image.naturalSize
        sourceSize = image.naturalSizeBeforeTransform
        decodedSize = image.decodedSize
        scale = image.scale
        format = image.format.rawValue
        orientation = image.orientation == .up ? nil : image.orientation.rawValue
    }

    /// The image of these pixels; `nil` when they are others.
    package func image(_ pixels: PixelBuffer, _ options: DecodeOptions) -> WebImage? {
        guard pixels.size == size, pixels.hasAlpha == hasAlpha else { return nil }
        return WebImage(
            WebImage.Content(
                pixels: pixels,
                naturalSize: naturalSize,
                sourceSize: sourceSize,
                decodedSize: decodedSize,
                scale: scale,
                format: ImageFormat(rawValue: format),
                orientation: orientation.flatMap(ImageOrientation.init) ?? .up,
                options: options
            )
        )
    }
}
