extension WebImage {
    /// Makes an animation of images, such as those that an app has drawn, to show it or to write it as a GIF, WebP or APNG.
    ///
    /// The animation has the size of its first image; others are scaled to it. All of them stay in memory. Of an image that is
    /// animated itself, its first frame is taken. Call this off the main thread where sizes differ.
    /// - Parameters:
    ///   - frames: Each image, and how long it is shown: at least 11 ms, or else 100 ms as in browsers, and at most a day.
    ///   - loopCount: The number of times to play the animation; 0 means endlessly. Default: 0.
    /// - Returns: A still image when there is one frame; `nil` when there is none, or no memory to scale one.
    public init?(frames: [(image: WebImage, duration: Duration)], loopCount: Int = 0) {
        guard let first = frames.first?.image else { return nil }
        var buffers: [PixelBuffer] = []
        for pixels in frames.map(\.image.pixels) {
            let isSized = pixels.size == first.pixelSize
            guard let sized = isSized ? pixels : pixels.resized(to: first.pixelSize, orientation: .up) else {
                return nil
            }
            buffers.append(sized)
        }
        let animation =
            buffers.count < 2
            ? nil
            : ImageAnimation(of: buffers, durations: frames.map(\.duration), loopCount: loopCount)
        self.init(pixels: buffers[0], naturalSize: first.naturalSize, scale: first.scale, animation: animation)
    }
}

extension ImageAnimation {
    /// Makes an animation of pixels that are in memory, in the size of the first ones. Those of another size are scaled each time
    /// that they are decoded.
    package convenience init(of frames: [PixelBuffer], durations: [Duration], loopCount: Int) {
        self.init(
            durations: durations,
            loopCount: loopCount,
            size: frames[0].size,
            hasAlpha: frames.contains { $0.hasAlpha },
            // The first ones count as the pixels of the image.
            byteCount: frames.dropFirst().reduce(0) { $0.boundedSum($1.byteCount) },
            makeDecoder: { KeptFrames(frames) }
        )
    }
}

/// Frames that are in memory already.
private final class KeptFrames: FrameDecoding {
    private let buffers: [PixelBuffer]

    init(_ buffers: [PixelBuffer]) {
        self.buffers = buffers
    }

    func frame(at index: Int) throws(ImageError) -> PixelBuffer {
        try buffers[index].resized(to: buffers[0].size, orientation: .up, DecodeOptions())
    }
}
