import Synchronization

/// A decoded picture: immutable, upright, cheap to pass around, safe on every thread.
public struct WebImage: Sendable {
    /// What the copies of one picture share.
    package final class Storage: Sendable {
        let pixels: PixelBuffer
        let naturalSize: PixelSize
        /// The sizes before any transformer: of the file, and of the decoded pixels.
        let sourceSize: PixelSize
        let decodedSize: PixelSize
        let scale: Double
        let format: ImageFormat
        let isPartial: Bool
        /// What a toolkit made of the pixels (a texture), so that it is made once.
        let display = Mutex<(any AnyObject & Sendable)?>(nil)

        init(
            pixels: PixelBuffer,
            naturalSize: PixelSize,
            sourceSize: PixelSize,
            decodedSize: PixelSize,
            scale: Double,
            format: ImageFormat,
            isPartial: Bool
        ) {
            self.pixels = pixels
            self.naturalSize = naturalSize
            self.sourceSize = sourceSize
            self.decodedSize = decodedSize
            self.scale = scale
            self.format = format
            self.isPartial = isPartial
        }
    }

    package let storage: Storage

    package init(storage: Storage) {
        self.storage = storage
    }

    /// Makes a picture of `pixels`.
    /// - Parameters:
    ///   - pixels: The pixels, upright.
    ///   - naturalSize: The size of the file, upright, in pixels. Default: that of `pixels`.
    ///   - scale: Pixels of the file per application pixel.
    ///   - format: The format of the file.
    ///   - isPartial: Whether more of the picture is still to come.
    public init(
        pixels: PixelBuffer,
        naturalSize: PixelSize? = nil,
        scale: Double = 1,
        format: ImageFormat = .unknown,
        isPartial: Bool = false
    ) {
        storage = Storage(
            pixels: pixels,
            naturalSize: naturalSize ?? pixels.size,
            sourceSize: naturalSize ?? pixels.size,
            decodedSize: pixels.size,
            scale: max(scale, 1),
            format: format,
            isPartial: isPartial
        )
    }

    /// The pixels, upright.
    public var pixels: PixelBuffer { storage.pixels }
    /// The size of ``pixels``.
    public var pixelSize: PixelSize { storage.pixels.size }
    /// The size in pixels of the file that it was decoded from, upright: at least ``pixelSize``, unless transformed.
    public var naturalSize: PixelSize { storage.naturalSize }
    /// Pixels of the file per application pixel: 2 for a picture named `@2x`.
    public var scale: Double { storage.scale }
    /// The width in application pixels that a widget gives it when nothing else decides.
    public var logicalWidth: Double { Double(naturalSize.width) / scale }
    /// The height in application pixels that a widget gives it when nothing else decides.
    public var logicalHeight: Double { Double(naturalSize.height) / scale }
    /// The format of the file that it was decoded from.
    public var format: ImageFormat { storage.format }
    /// Whether more of the picture is still to come.
    public var isPartial: Bool { storage.isPartial }
    /// The bytes that the pixels take in memory. A renderer that drew the picture holds as much again.
    public var cost: Int { storage.pixels.byteCount }

    /// The size in pixels of the file, before any transformer.
    package var naturalSizeBeforeTransform: PixelSize { storage.sourceSize }
    /// The size in pixels that it was decoded at, before any transformer.
    package var decodedSize: PixelSize { storage.decodedSize }

    /// What `make` made of this picture, made at most once and kept with the pixels.
    package func display<T: AnyObject & Sendable>(_ make: (PixelBuffer) -> T) -> T {
        storage.display.withLock { kept in
            if let made = kept as? T { return made }
            let made = make(storage.pixels)
            kept = made
            return made
        }
    }

    /// The same picture with its colours in other numbers.
    package func replacingPixels(_ pixels: PixelBuffer) -> WebImage {
        replacingPixels(pixels, keepsNaturalSize: true)
    }

    /// The same picture with other pixels, as transformers make it.
    package func replacingPixels(_ pixels: PixelBuffer, keepsNaturalSize: Bool) -> WebImage {
        WebImage(
            storage: Storage(
                pixels: pixels,
                naturalSize: keepsNaturalSize ? naturalSize : pixels.size,
                sourceSize: storage.sourceSize,
                decodedSize: decodedSize,
                scale: scale,
                format: format,
                isPartial: isPartial
            )
        )
    }
}

extension WebImage: Equatable {
    /// Whether both are the same picture in memory; pixels are not compared.
    public static func == (lhs: WebImage, rhs: WebImage) -> Bool { lhs.storage === rhs.storage }
}

/// What a toolkit does with a picture ahead of showing it, on the decode lane.
package protocol DisplayPreparation: Sendable {
    func prepare(_ image: WebImage)
}
