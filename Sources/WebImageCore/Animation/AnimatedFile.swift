package import FoundationEssentials

/// The frames of a parsed GIF, APNG or WebP file. There may be only one.
package struct AnimatedFile: Sendable {
    /// Decodes single frames. Several threads may use it at the same time.
    package var source: any FrameSource
    /// The layout of each frame; at least one, each within the canvas.
    package var layouts: [FrameLayout]
    /// The size of the canvas in pixels, before orientation.
    package var size: PixelSize
    package var orientation = ImageOrientation.up
    /// The number of times to play the animation; 0 means endlessly.
    package var loopCount: Int
    package var format: ImageFormat
    /// The size of the file in bytes.
    package var byteCount: Int
    /// The bytes of a whole file.
    package var data: Data?
    /// What the images of a file that is arriving share, each of which has more frames.
    package var arrival: ArrivingAnimation?

    package init(
        _ source: any FrameSource,
        _ layouts: [FrameLayout],
        size: PixelSize,
        orientation: ImageOrientation = .up,
        loopCount: Int,
        format: ImageFormat,
        byteCount: Int,
        arrival: ArrivingAnimation? = nil
    ) {
        self.source = source
        self.layouts = layouts
        self.size = size
        self.orientation = orientation
        self.loopCount = loopCount
        self.format = format
        self.byteCount = byteCount
        self.arrival = arrival
    }

    /// The largest canvas of an animation in pixels, a little more than those of 8K video. A player keeps its canvas, and a
    /// second one for frames that restore what was there before.
    private static let largestCanvas = 1 << 25

    /// Decodes the first frame. The image includes the animation, unless the options ask for the first frame only.
    /// - Throws: `ImageError.Code.badImageData` if the first frame is damaged, `ImageError.Code.imageTooLarge` if there is more
    ///   than one and the canvas is too large for that.
    package func image(_ options: DecodeOptions) throws(ImageError) -> WebImage {
        let isAnimated = layouts.count > 1 && !options.isFirstFrameOnly
        guard !isAnimated || size.pixelCount <= Self.largestCanvas else {
            let (count, limit) = Magnitude.pixels(size.pixelCount, exceeding: Self.largestCanvas)
            throw ImageError(
                .imageTooLarge,
                url: options.url,
                reason: "The animation has \(size) pixels (\(count)), more than the limit of \(limit) for animations",
                remedy: "Decode its first frame only (ImageRequest.isFirstFrameOnly)."
            ).dependingOnRequest()
        }
        let turn = options.turn(orientation)
        let natural = turn.apply(to: size)
        let shown = options.size.target(for: natural)
        let target = turn.apply(to: shown)
        let make: @Sendable (DecodeOptions) -> FrameComposer = { options in
            FrameComposer(source, layouts, size: size, target: target, orientation: turn, options: options)
        }
        // The decode of the first frame has its memory already.
        var decoding = options
        decoding.budget = nil
        let first = try make(decoding).takeFirstFrame()
        var animation: ImageAnimation?
        if isAnimated {
            animation = ImageAnimation(
                durations: layouts.map(\.duration),
                loopCount: loopCount,
                size: shown,
                hasAlpha: layouts.hasTransparency(on: size),
                byteCount: byteCount,
                fileData: data,
                arrival: arrival.map { ($0, turn) },
                memory: options.budget?.holdAnimation(byteCount),
                makeDecoder: { make(options) }
            )
        }
        return WebImage(
            WebImage.Content(
                pixels: first,
                naturalSize: natural,
                sourceSize: natural,
                decodedSize: shown,
                scale: WebImage.validScale(options.scale),
                format: format,
                orientation: orientation,
                animation: animation,
                options: options
            )
        )
    }
}
