/// A file whose format knows frames, of which there may be only one: what GIF, APNG and WebP have in common.
package struct AnimatedFile: Sendable {
    /// Decodes single frames, for several threads at a time.
    package var source: any FrameSource
    /// Of all frames, at least one, each inside of the canvas.
    package var layouts: [FrameLayout]
    /// Of the canvas, as stored.
    package var size: PixelSize
    package var orientation = ImageOrientation.up
    /// How often it is played; 0 is for ever.
    package var loopCount: Int
    package var format: ImageFormat
    /// Of the file.
    package var byteCount: Int

    package init(
        _ source: any FrameSource,
        _ layouts: [FrameLayout],
        size: PixelSize,
        orientation: ImageOrientation = .up,
        loopCount: Int,
        format: ImageFormat,
        byteCount: Int
    ) {
        self.source = source
        self.layouts = layouts
        self.size = size
        self.orientation = orientation
        self.loopCount = loopCount
        self.format = format
        self.byteCount = byteCount
    }

    /// The first frame, with the means to decode the others unless only the first is wanted.
    /// - Throws: ImageError/Code/badImageData when that frame is damaged.
    package func image(_ options: DecodeOptions) throws(ImageError) -> WebImage {
        let natural = orientation.apply(to: size)
        let shown = options.size.target(for: natural)
        let target = orientation.apply(to: shown)
        let make: @Sendable () -> FrameComposer = {
            FrameComposer(source, layouts, size: size, target: target, orientation, options)
        }
        let first = try make().frame(at: 0)
        var animation: ImageAnimation?
        if layouts.count > 1, !options.isFirstFrameOnly {
            animation = ImageAnimation(
                durations: layouts.map(\.duration),
                loopCount: loopCount,
                size: shown,
                hasAlpha: layouts.showAlpha(on: size),
                byteCount: byteCount,
                makeDecoder: make
            )
        }
        return WebImage(
            WebImage.Content(
                pixels: first,
                naturalSize: natural,
                sourceSize: natural,
                decodedSize: shown,
                scale: options.scale,
                format: format,
                orientation: orientation,
                animation: animation,
                options: options
            )
        )
    }
}
