package import FoundationEssentials

/// The properties needed to turn the bytes of a rendition into an image.
package struct RenditionInfo: Sendable, Hashable {
    /// The encoding of the pixels.
    package enum Encoding: CaseIterable {
        /// The pixels as they are in memory.
        case raw
        /// The pixels compressed by zstd.
        case zstd
        /// A JPEG file.
        case jpeg
    }

    package var encoding = Encoding.raw
    package var hasAlpha = false
    package var size = PixelSize(width: 0, height: 0)
    var naturalSize = PixelSize(width: 0, height: 0)
    var sourceSize = PixelSize(width: 0, height: 0)
    var decodedSize = PixelSize(width: 0, height: 0)
    var scale = 1.0
    var format = ""
    var orientation = ImageOrientation.up
    var gamut = PixelBuffer.Colors.Gamut.sRGB
    /// Whether a channel has 16 bits instead of 8.
    var isDeep = false
    /// When the original was stored (``CacheEntry/storedAt``).
    var source: Date?

    init() {}

    package init(_ image: WebImage, encoding: Encoding, source: Date) {
        self.encoding = encoding
        self.source = source
        let pixels = image.content.pixels
        hasAlpha = pixels.hasAlpha
        (gamut, isDeep) = (pixels.colors.gamut, pixels.colors.isDeep)
        size = image.pixelSize
        naturalSize = image.naturalSize
        sourceSize = image.naturalSizeBeforeTransform
        decodedSize = image.decodedSize
        scale = image.scale
        format = image.format.rawValue
        orientation = image.orientation
    }

    /// The gamut and depth of the pixels.
    package var colors: PixelBuffer.Colors { PixelBuffer.Colors(gamut: gamut, isDeep: isDeep) }

    /// Lists the fields for the disk cache.
    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        try coder.code(&encoding, among: Encoding.allCases)
        try coder.code(&hasAlpha)
        try coder.code(&size)
        try coder.code(&naturalSize)
        try coder.code(&sourceSize)
        try coder.code(&decodedSize)
        try coder.code(&scale)
        try coder.code(&format)
        try coder.code(&orientation, among: ImageOrientation.allCases)
        try coder.code(&gamut, among: PixelBuffer.Colors.Gamut.allCases)
        try coder.code(&isDeep)
        try coder.code(&source)
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
                orientation: orientation,
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
