package import FoundationEssentials

/// The properties needed to turn the bytes of a rendition into an image.
package struct RenditionInfo: Codable, Sendable, Hashable {
    /// The encoding of the pixels.
    package enum Encoding: String, Codable, Sendable {
        /// The pixels as they are in memory.
        case raw
        /// The pixels compressed by zstd.
        case zstd
        /// A JPEG file.
        case jpeg
    }

    package var encoding: Encoding
    package var hasAlpha: Bool
    package var size: PixelSize
    var naturalSize: PixelSize
    var sourceSize: PixelSize
    var decodedSize: PixelSize
    var scale: Double
    var format: String
    var orientation: Int?
    /// The gamut; `nil` for sRGB.
    var gamut: PixelBuffer.Colors.Gamut?
    /// Whether a channel has 16 bits; `nil` for 8.
    var isDeep: Bool?
    /// When the original was stored (``CacheEntry/storedAt``).
    var source: Date

    package init(_ image: WebImage, encoding: Encoding, source: Date) {
        self.encoding = encoding
        self.source = source
        let pixels = image.content.pixels
        hasAlpha = pixels.hasAlpha
        gamut = pixels.colors.gamut == .sRGB ? nil : pixels.colors.gamut
        isDeep = pixels.colors.isDeep ? true : nil
        size = image.pixelSize
        naturalSize = image.naturalSize
        sourceSize = image.naturalSizeBeforeTransform
        decodedSize = image.decodedSize
        scale = image.scale
        format = image.format.rawValue
        orientation = image.orientation == .up ? nil : image.orientation.rawValue
    }

    /// The gamut and depth of the pixels.
    package var colors: PixelBuffer.Colors {
        PixelBuffer.Colors(gamut: gamut ?? .sRGB, isDeep: isDeep ?? false)
    }

    /// The image of the decoded pixels; `nil` if these do not match the properties.
    package func image(_ pixels: PixelBuffer, _ options: DecodeOptions) -> WebImage? {
        guard pixels.size == size, pixels.hasAlpha == hasAlpha, pixels.colors == colors else {
            return nil
        }
        return WebImage(
            WebImage.Content(
                pixels: pixels,
                naturalSize: naturalSize.bounded,
                sourceSize: sourceSize.bounded,
                decodedSize: decodedSize.bounded,
                scale: WebImage.validScale(scale),
                format: ImageFormat(rawValue: format),
                orientation: orientation.flatMap(ImageOrientation.init) ?? .up,
                options: options
            )
        )
    }
}

/// Encodes decoded images for fast reading. Called on the decode queue.
package protocol RenditionCoding: Sendable {
    /// The bytes of an image; `nil` if a rendition is not worth keeping.
    /// - Parameter hasRoom: Whether the disk has room for files that are larger but faster to read.
    func encode(_ image: WebImage, hasRoom: Bool) -> (Data, RenditionInfo.Encoding)?

    /// The pixels that encode(_:hasRoom:) wrote; `nil` if the bytes are damaged.
    func decode(_ data: Data, _ info: RenditionInfo) -> PixelBuffer?
}
