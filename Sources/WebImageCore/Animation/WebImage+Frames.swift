extension WebImage {
    /// Creates an animation from images, such as your own drawings, to show it or to encode it as GIF, WebP or APNG.
    ///
    /// The animation has the size of its first image, and other images are scaled to it. All of them stay in memory. An
    /// animated image contributes its first frame. Call this off the main thread if sizes differ.
    /// - Parameters:
    ///   - frames: The images, in their order.
    ///   - durations: The duration of each image. Durations below 11 ms become 100 ms, as in browsers, and none exceeds a day.
    ///   - loopCount: The number of times to play the animation; 0 means endlessly. Default: 0.
    /// - Returns: A still image if there is one frame; `nil` if there is none, if the numbers of frames and durations differ, or if
    ///   there is no memory for scaling.
    public init?(frames: [WebImage], durations: [Duration], loopCount: Int = 0) {
        guard let first = frames.first, frames.count == durations.count else { return nil }
        var buffers: [PixelBuffer] = []
        for pixels in frames.map(\.pixels) {
            let isSized = pixels.size == first.pixelSize
            guard let sized = isSized ? pixels : pixels.resized(to: first.pixelSize, orientation: .up) else {
                return nil
            }
            buffers.append(sized)
        }
        let animation =
            buffers.count < 2
            ? nil
            : ImageAnimation(of: buffers, durations: durations, loopCount: loopCount)
        self.init(pixels: buffers[0], naturalSize: first.naturalSize, scale: first.scale, animation: animation)
    }
}

extension ImageAnimation {
    /// Creates an animation from pixels in memory, at the size of the first frame. Other frames are scaled each time
    /// they are decoded.
    package convenience init(of frames: [PixelBuffer], durations: [Duration], loopCount: Int) {
        self.init(
            durations: durations,
            loopCount: loopCount,
            size: frames[0].size,
            hasAlpha: frames.contains { $0.hasAlpha },
            // The first frame counts as the pixels of the image.
            byteCount: frames.dropFirst().reduce(0) { $0.boundedSum($1.byteCount) },
            makeDecoder: { KeptFrames(frames) }
        )
    }
}

/// Frames that are already in memory.
private final class KeptFrames: FrameDecoding {
    private let buffers: [PixelBuffer]

    init(_ buffers: [PixelBuffer]) {
        self.buffers = buffers
    }

    func frame(at index: Int) throws(ImageError) -> PixelBuffer {
        try buffers[index].resized(to: buffers[0].size, orientation: .up, DecodeOptions())
    }
}
