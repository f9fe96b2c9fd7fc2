public import FoundationEssentials

/// How an image is decoded: the settings of a request for decoders, and limits against malicious files.
public struct DecodeOptions: Sendable {
    /// The URL of the file, for errors.
    public var url: URL?
    /// The size to decode at. Default: the size of the file.
    public var size: DecodeSize
    /// Pixels of the file per application pixel. Default: 1.
    public var scale: Double
    /// The largest number of pixels, at most 2^40. Larger files are rejected before memory is allocated for them.
    /// Default: 134,217,728 (2^27), enough for the 108-megapixel cameras of phones.
    public var maximumPixelCount: Int
    /// The largest number of frames; further frames are dropped. Default: 10,000.
    public var maximumFrameCount = 10_000
    /// Whether an animated image is decoded as a still one. Default: no.
    public var isFirstFrameOnly = false
    /// The format of a file without a signature. Default: none.
    public var formatHint: ImageFormat?
    /// Values for your own decoder, from ``ImageRequest/decoderParameters``. Default: none.
    public var decoderParameters: [String: String] = [:]
    /// The format of the pixels. Default: with alpha if the file has alpha.
    public var pixelFormat: PixelBuffer.Format?
    /// Whether colors are converted to sRGB from the ICC profile of the file. Default: yes.
    public var convertsToSRGB = true
    /// Whether pixels are turned upright by the EXIF orientation of the file. Default: yes.
    public var appliesOrientation = true
    /// Whether a still image keeps a gamut wider than sRGB, as Display P3, and 16 bits a channel. Default: no.
    package var keepsWideColors = false
    /// The number of pixels that memory is reserved for. A file without a size in its header may have more; it is then
    /// rejected before they are decoded. Default: any number within the limit.
    package var reservedPixelCount: Int?
    /// The budget for the canvases of animations. Default: none, so that canvases are not limited.
    package var budget: MemoryBudget?

    /// Creates options. Default: every pixel of the file, at most 134,217,728 of them.
    public init(
        url: URL? = nil,
        size: DecodeSize = .original,
        scale: Double = 1,
        maximumPixelCount: Int = 1 << 27
    ) {
        self.url = url
        self.size = size
        self.scale = scale
        self.maximumPixelCount = maximumPixelCount
    }
}

extension DecodeOptions {
    /// The orientation of a file, or `up` if it is not applied.
    package func turn(_ orientation: ImageOrientation) -> ImageOrientation { appliesOrientation ? orientation : .up }

    /// The number of frames to read.
    package var frameLimit: Int { isFirstFrameOnly ? 1 : max(maximumFrameCount, 1) }

    /// The largest number of pixels that is ever decoded. Their bytes can be counted in 64 bits at any depth, so no
    /// header makes a decoder overflow, even with a high limit.
    private static let largestPixelCount = 1 << 40

    /// The longest side that is ever decoded. Decoders keep several whole rows, regardless of the target size. The
    /// default of libpng is about the same.
    private static let longestSide = 1 << 20

    /// The largest number of pixels that passes `check(_:)`.
    package var pixelLimit: Int { min(maximumPixelCount, Self.largestPixelCount) }

    /// Throws if a size has no pixels, more than the limit, more than were reserved, or a side that is too long.
    package func check(_ size: PixelSize) throws(ImageError) {
        try checkLimits(size)
        try checkReservation(size.pixelCount)
    }

    /// Throws if more pixels are about to be decoded than were reserved.
    package func checkReservation(_ pixelCount: Int) throws(ImageError) {
        guard let reservedPixelCount, pixelCount > reservedPixelCount else { return }
        var error = ImageError(
            .imageTooLarge,
            url: url,
            reason: "The image has \(pixelCount) pixels, and memory was taken for \(reservedPixelCount)",
            remedy: "Decode it again with more memory."
        ).dependingOnRequest()
        error.unreservedPixelCount = pixelCount
        throw error
    }

    /// Throws if a size has no pixels, more than the limit, or a side that is too long. It may be the size of a drawing
    /// that is rendered with fewer pixels.
    package func checkLimits(_ size: PixelSize) throws(ImageError) {
        guard !size.isEmpty else {
            throw badData("The image's header says \(size) pixels")
        }
        guard size.pixelCount <= pixelLimit else {
            let (count, limit) = Magnitude.pixels(size.pixelCount, exceeding: pixelLimit)
            throw ImageError(
                .imageTooLarge,
                url: url,
                reason: "The image has \(size) pixels (\(count)), more than the limit of \(limit)",
                remedy: size.pixelCount > Self.largestPixelCount
                    ? "Check the file: no image has so many pixels."
                    : "Raise maximumPixelCount in the manager's configuration if such images are expected."
            )
        }
        guard max(size.width, size.height) <= Self.longestSide else {
            throw ImageError(
                .imageTooLarge,
                url: url,
                reason: "The image has \(size) pixels, and a side is longer than \(Self.longestSide)",
                remedy: "Cut the image into several files."
            )
        }
    }

    /// The error for bytes that cannot be decoded.
    package func badData(_ reason: String) -> ImageError {
        let remedy =
            switch url?.scheme?.lowercased() {
            case "http", "https":
                "Check what the server sends for this URL; nothing was cached, so that it can be loaded again."
            case "file", "resource": "Check the file with another program; it may be damaged, or no image."
            case "data": "Check the data in the URL; it may be damaged, or no image."
            default: "Check the bytes; they may be damaged, or no image."
            }
        return ImageError(.badImageData, url: url, reason: reason, remedy: remedy)
    }

    /// The error for pixels that the system has no memory for.
    package func outOfMemory(_ size: PixelSize) -> ImageError {
        ImageError(
            .imageTooLarge,
            url: url,
            reason: "There is no memory for \(size) pixels",
            remedy: "Decode it at a smaller size, or lower maximumPixelCount."
        ).dependingOnRequest()
    }
}

extension PixelBuffer {
    /// The image at another size and upright.
    /// - Throws: ``ImageError/Code/imageTooLarge`` if there is no memory.
    package func resized(
        to target: PixelSize,
        orientation: ImageOrientation,
        _ options: DecodeOptions
    ) throws(ImageError) -> PixelBuffer {
        guard let pixels = resized(to: target, orientation: orientation) else { throw options.outOfMemory(target) }
        return pixels
    }
}

extension WebImage {
    /// Creates an image from decoded pixels. An animated image has the pixels of its first frame.
    package init(
        pixels: PixelBuffer,
        naturalSize: PixelSize,
        format: ImageFormat,
        _ orientation: ImageOrientation,
        _ options: DecodeOptions,
        animation: ImageAnimation? = nil
    ) {
        self.init(
            Content(
                pixels: pixels,
                naturalSize: naturalSize,
                sourceSize: naturalSize,
                decodedSize: pixels.size,
                scale: Self.validScale(options.scale),
                format: format,
                orientation: orientation,
                animation: animation,
                options: options
            )
        )
    }

    /// The image with its pixels in another format. Alpha that is dropped is replaced by black.
    func converted(to format: PixelBuffer.Format) -> WebImage {
        guard format != content.pixels.format, let pixels = pixels.converted(to: format) else { return self }
        return with { content in
            content.pixels = pixels
            content.animation = animation?.mapFrames(hasAlpha: format != .rgb, keepsFile: true) {
                $0.converted(to: format)
            }
        }
    }
}
