import Synchronization

/// A decoded image. It is immutable, upright, cheap to copy, and safe to use on any thread.
public struct WebImage: Sendable {
    /// The pixels and properties of an image.
    package struct Content: Sendable {
        package var pixels: PixelBuffer
        package var naturalSize: PixelSize
        /// The size of the file in pixels, before any transformer. A scalable image has a size larger than any screen.
        package var sourceSize: PixelSize
        /// The size of the decoded pixels, before any transformer.
        package var decodedSize: PixelSize
        package var scale: Double
        package var format: ImageFormat
        package var isPartial = false
        /// Whether a partial image is a complete preview of another image, rather than the beginning of it.
        package var isPreview = false
        /// Whether a partial image is the thumbnail in its file, which is replaced by any other preview but a ThumbHash.
        package var isThumbnail = false
        package var orientation = ImageOrientation.up
        package var animation: ImageAnimation?
        package var options: DecodeOptions?
        /// Pixels per application pixel of the screen that shows the image, if it is known.
        package var displayScale: Double?
    }

    /// The storage that all copies of an image share.
    package final class Storage: Sendable {
        let content: Content
        /// The toolkit's representation of the pixels (a texture), created at most once.
        let display = Mutex<(any AnyObject & Sendable)?>(nil)
        /// The pixels of an image in wide colors, converted for apps and transformers at most once.
        let standardPixels = Mutex<PixelBuffer?>(nil)

        init(_ content: Content) {
            self.content = content
        }
    }

    package let storage: Storage

    package init(storage: Storage) {
        self.storage = storage
    }

    package init(_ content: Content) {
        storage = Storage(content)
    }

    /// Creates an image from pixels.
    /// - Parameters:
    ///   - pixels: The upright pixels; those of the first frame for an animated image.
    ///   - naturalSize: The size of the upright file in pixels. Default: the size of `pixels`.
    ///   - scale: The number of file pixels per application pixel; at least 1. Default: 1.
    ///   - format: The format of the file. Default: unknown.
    ///   - isPartial: Whether more of the image will arrive. Default: false.
    ///   - animation: The frames of an animated image.
    public init(
        pixels: PixelBuffer,
        naturalSize: PixelSize? = nil,
        scale: Double = 1,
        format: ImageFormat = .unknown,
        isPartial: Bool = false,
        animation: ImageAnimation? = nil
    ) {
        self.init(
            Content(
                pixels: pixels,
                naturalSize: (naturalSize ?? pixels.size).bounded,
                sourceSize: (naturalSize ?? pixels.size).bounded,
                decodedSize: pixels.size,
                scale: Self.validScale(scale),
                format: format,
                isPartial: isPartial,
                // An animation without frames counts as none.
                animation: animation.flatMap { $0.frameCount > 0 ? $0 : nil }
            )
        )
    }

    package var content: Content { storage.content }

    /// A scale that sizes can be divided by.
    static func validScale(_ scale: Double) -> Double { scale.bounded(to: 1...1_000_000, ifNaN: 1) }

    /// The upright pixels; those of the first frame for an animated image. Colors in a wider gamut or with more bits
    /// are converted to 8-bit sRGB on the first access.
    public var pixels: PixelBuffer {
        guard content.pixels.colors != .standard else { return content.pixels }
        return storage.standardPixels.withLock { kept in
            if let kept { return kept }
            kept = content.pixels.standard()
            // If there is no memory for the copy, wrong colors are better than a crash.
            return kept ?? content.pixels
        }
    }
    /// The size of `pixels`.
    public var pixelSize: PixelSize { content.pixels.size }
    /// The size of the upright file in pixels. It is at least `pixelSize`, unless the image was transformed or is an
    /// SVG, which is drawn at the size of its box.
    public var naturalSize: PixelSize { content.naturalSize }
    /// The number of file pixels per application pixel: 2 for a file named @2x.
    public var scale: Double { content.scale }
    /// The intrinsic width in application pixels.
    public var logicalWidth: Double { Double(naturalSize.width) / scale }
    /// The intrinsic height in application pixels.
    public var logicalHeight: Double { Double(naturalSize.height) / scale }
    /// The format of the file.
    public var format: ImageFormat { content.format }
    /// Whether the file is a drawing without pixels: SVG or PDF.
    public var isVector: Bool { format == .svg || format == .pdf }
    /// The EXIF orientation of the file, which decoding has applied unless ``ImageRequest/appliesOrientation`` is `false`.
    public var orientation: ImageOrientation { content.orientation }
    /// Whether more of the image will arrive.
    public var isPartial: Bool { content.isPartial }
    package var isPreview: Bool { content.isPreview }
    package var isThumbnail: Bool { content.isThumbnail }

    /// The image as a preview of another one: the same image at another size, or a small version of it.
    var asPreview: WebImage {
        with { content in
            content.isPartial = true
            content.isPreview = true
        }
    }
    /// The frames of an animated image; `nil` for a still image, and if only the first frame was requested.
    public var animation: ImageAnimation? { content.animation }
    /// The number of frames; 1 for a still image.
    public var frameCount: Int { animation?.frameCount ?? 1 }
    /// The number of times to play an animated image; 0 means endlessly. It is 1 for a still image.
    public var loopCount: Int { animation?.loopCount ?? 1 }
    /// The options that the image was decoded with; `nil` for an image that was created from pixels.
    public var decodeOptions: DecodeOptions? {
        var options = content.options
        // The reservation belonged to the decode.
        options?.reservedPixelCount = nil
        return options
    }
    /// The size in memory in bytes: the pixels, and the file of an animated image. A renderer that has drawn the image
    /// keeps an additional copy of the pixels.
    public var byteCount: Int { content.pixels.byteCount + (animation?.byteCount ?? 0) }

    /// The number of pixels in `pixels` per application pixel: the scale factor of the screen if the image was decoded for
    /// a widget, else `scale`. Transformers use it to convert radii and border widths.
    public var displayScale: Double { content.displayScale ?? scale }

    /// The size of the file in pixels, before any transformer.
    package var naturalSizeBeforeTransform: PixelSize { content.sourceSize }
    /// The size of the decoded pixels, before any transformer.
    package var decodedSize: PixelSize { content.decodedSize }

    /// Returns the toolkit's representation of the pixels, which `make` creates at most once.
    package func display<T: AnyObject & Sendable>(_ make: (PixelBuffer) -> T) -> T {
        storage.display.withLock { kept in
            if let made = kept as? T { return made }
            let made = make(content.pixels)
            kept = made
            return made
        }
    }

    /// Returns a copy of the image with changed properties.
    package func with(_ change: (inout Content) -> Void) -> WebImage {
        var content = content
        change(&content)
        return WebImage(content)
    }

    /// Returns the image with another scale and the same representation for the toolkit.
    package func with(scale: Double) -> WebImage {
        let scale = Self.validScale(scale)
        guard scale != self.scale else { return self }
        let made = storage.display.withLock { $0 }
        let copy = with { $0.scale = scale }
        copy.storage.display.withLock { $0 = made }
        return copy
    }

    /// The image turned upright, if decoding has left its pixels as stored; `nil` for such an animation.
    package var upright: WebImage? {
        guard orientation != .up, content.options?.appliesOrientation == false else { return self }
        guard animation == nil, let pixels = content.pixels.oriented(orientation) else { return nil }
        return with { content in
            content.pixels = pixels
            content.naturalSize = orientation.apply(to: content.naturalSize)
        }
    }

    /// Returns a still image with other pixels, for transformers.
    package func replacingPixels(_ pixels: PixelBuffer, keepsNaturalSize: Bool) -> WebImage {
        with { content in
            content.pixels = pixels
            content.animation = nil
            if !keepsNaturalSize { content.naturalSize = pixels.size }
        }
    }
}

extension WebImage: Equatable {
    /// Whether both values share the same storage. Pixels are not compared.
    public static func == (lhs: WebImage, rhs: WebImage) -> Bool { lhs.storage === rhs.storage }
}

extension WebImage: CustomStringConvertible {
    /// The format, the size of the file and other properties, as in "jpeg image, 800x600, decoded at 400x300".
    public var description: String {
        var parts = ["\(format == .unknown ? "" : "\(format.rawValue) ")image", "\(naturalSize)"]
        if pixelSize != naturalSize { parts.append("decoded at \(pixelSize)") }
        if frameCount > 1 { parts.append("\(frameCount) frames") }
        if isPartial { parts.append("partial") }
        return parts.joined(separator: ", ")
    }
}

/// Prepares a decoded image for a toolkit before it is shown.
package protocol DisplayPreparation: Sendable {
    /// Prepares an image on the decode queue.
    func prepare(_ image: WebImage)
}
