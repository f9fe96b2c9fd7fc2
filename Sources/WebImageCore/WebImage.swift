import Synchronization

/// A decoded image: immutable, upright, cheap to pass around, safe on every thread.
public struct WebImage: Sendable {
    /// What makes up an image.
    package struct Content: Sendable {
        package var pixels: PixelBuffer
        package var naturalSize: PixelSize
        /// The sizes before any transformer: of the file, and of the decoded pixels.
        package var sourceSize: PixelSize
        package var decodedSize: PixelSize
        package var scale: Double
        package var format: ImageFormat
        package var isPartial = false
        package var orientation = ImageOrientation.up
        package var animation: ImageAnimation?
        package var options: DecodeOptions?
        /// Pixels per application pixel where it is shown, if that is known.
        package var displayScale: Double?
    }

    /// What the copies of one image share.
    package final class Storage: Sendable {
        let content: Content
        /// What a toolkit made of the pixels (a texture), so that it is made once.
        let display = Mutex<(any AnyObject & Sendable)?>(nil)

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

    /// Makes an image of pixels.
    /// - Parameters:
    ///   - pixels: The pixels, upright; of an animated image those of its first frame.
    ///   - naturalSize: The size of the file, upright, in pixels. Default: that of pixels.
    ///   - scale: Pixels of the file per application pixel.
    ///   - format: The format of the file.
    ///   - isPartial: Whether more of the image is still to come.
    ///   - animation: What an animated image shows.
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
                naturalSize: naturalSize ?? pixels.size,
                sourceSize: naturalSize ?? pixels.size,
                decodedSize: pixels.size,
                scale: max(scale, 1),
                format: format,
                isPartial: isPartial,
                animation: animation
            )
        )
    }

    package var content: Content { storage.content }

    /// The pixels, upright; of an animated image those of its first frame.
    public var pixels: PixelBuffer { content.pixels }
    /// The size of pixels.
    public var pixelSize: PixelSize { content.pixels.size }
    /// The size in pixels of the file that it was decoded from, upright: at least pixelSize, unless transformed.
    public var naturalSize: PixelSize { content.naturalSize }
    /// Pixels of the file per application pixel: 2 for an image named @2x.
    public var scale: Double { content.scale }
    /// The width in application pixels that a widget gives it when nothing else decides.
    public var logicalWidth: Double { Double(naturalSize.width) / scale }
    /// The height in application pixels that a widget gives it when nothing else decides.
    public var logicalHeight: Double { Double(naturalSize.height) / scale }
    /// The format of the file that it was decoded from.
    public var format: ImageFormat { content.format }
    /// How the pixels of the file were turned to be upright (EXIF).
    public var orientation: ImageOrientation { content.orientation }
    /// Whether more of the image is still to come.
    public var isPartial: Bool { content.isPartial }
    /// The frames of an animated image; nil for a still one, and when only the first frame was asked for.
    public var animation: ImageAnimation? { content.animation }
    /// The number of frames: 1 for a still image.
    public var frameCount: Int { animation?.frameCount ?? 1 }
    /// How often an animated image is played: 0 is for ever. 1 for a still image.
    public var loopCount: Int { animation?.loopCount ?? 1 }
    /// How it was decoded; nil for an image that was made of pixels.
    public var decodeOptions: DecodeOptions? { content.options }
    /// The bytes that it takes in memory: the pixels, and the file of an animated image. A renderer that drew the
    /// image holds as much again.
    public var cost: Int { pixels.byteCount + (animation?.byteCount ?? 0) }

    /// Pixels of pixels per application pixel: that of the screen for an image that was decoded for a widget, else
    /// scale. Transformers measure radii and borders with it.
    public var displayScale: Double { content.displayScale ?? scale }

    /// The size in pixels of the file, before any transformer.
    package var naturalSizeBeforeTransform: PixelSize { content.sourceSize }
    /// The size in pixels that it was decoded at, before any transformer.
    package var decodedSize: PixelSize { content.decodedSize }

    /// What make made of this image, made at most once and kept with the pixels.
    package func display<T: AnyObject & Sendable>(_ make: (PixelBuffer) -> T) -> T {
        storage.display.withLock { kept in
            if let made = kept as? T { return made }
            let made = make(pixels)
            kept = made
            return made
        }
    }

    /// The same image with something about it changed.
    package func with(_ change: (inout Content) -> Void) -> WebImage {
        var content = content
        change(&content)
        return WebImage(content)
    }

    /// A still image with other pixels, as transformers make it.
    package func replacingPixels(_ pixels: PixelBuffer, keepsNaturalSize: Bool) -> WebImage {
        with { content in
            content.pixels = pixels
            content.animation = nil
            if !keepsNaturalSize { content.naturalSize = pixels.size }
        }
    }
}

extension WebImage: Equatable {
    /// Whether both are the same image in memory; pixels are not compared.
    public static func == (lhs: WebImage, rhs: WebImage) -> Bool { lhs.storage === rhs.storage }
}

/// What a toolkit does with an image ahead of showing it, on the decode queue.
package protocol DisplayPreparation: Sendable {
    func prepare(_ image: WebImage)
}
