package import FoundationEssentials

extension WebImage {
    /// The largest canvas of an animation in pixels, slightly more than 8K video. A player keeps its canvas, and a
    /// second one for frames that restore earlier pixels.
    private static let largestCanvas = 1 << 25

    /// Decodes the first frame of a parsed file, which may be its only frame. The image includes the animation, unless the
    /// options ask for the first frame only.
    /// - Parameters:
    ///   - source: Decodes single frames. Several threads may use it at the same time.
    ///   - layouts: The layout of each frame; at least one, each within the canvas.
    ///   - size: The size of the canvas in pixels, before orientation.
    ///   - loopCount: The number of times to play the animation; 0 means endlessly.
    ///   - data: The bytes of the file, or the part of it that has arrived.
    ///   - isArriving: Whether the file is incomplete.
    ///   - arrival: The identity that the images of an arriving file share.
    /// - Throws: `ImageError.Code.badImageData` if the first frame is damaged, `ImageError.Code.imageTooLarge` if there
    ///   are several frames and the canvas is too large for an animation.
    package init(
        animated source: any FrameSource,
        layouts: [FrameLayout],
        size: PixelSize,
        orientation: ImageOrientation = .up,
        loopCount: Int,
        format: ImageFormat,
        data: Data,
        isArriving: Bool,
        arrival: ArrivingAnimation?,
        options: DecodeOptions
    ) throws(ImageError) {
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
        // The memory for decoding the first frame is already reserved.
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
                byteCount: data.count,
                fileData: isArriving ? nil : data,
                arrival: arrival.map { ($0, turn) },
                memory: options.budget?.holdAnimation(data.count),
                makeDecoder: { make(options) }
            )
        }
        self.init(pixels: first, naturalSize: natural, format: format, orientation, options, animation: animation)
    }
}
