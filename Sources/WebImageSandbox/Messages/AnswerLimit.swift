import WebImageCore

extension DecodeAnswer {
    /// What an answer may bring. Memory that a worker has made looks as large as it likes, and the app would have to pay for it.
    struct Limit {
        var pixelCount: Int
        var frameCount: Int
        /// Whether the colours of pixels may be outside of 8-bit sRGB.
        var allowsWideColors = false
        /// The size of the frames of an animation.
        var frameSize: PixelSize?

        static let none = Limit(pixelCount: 0, frameCount: 0)

        init(pixelCount: Int, frameCount: Int) {
            (self.pixelCount, self.frameCount) = (pixelCount, frameCount)
        }

        /// The limit for a frame.
        init(frameSize: PixelSize) {
            self.init(pixelCount: frameSize.pixelCount, frameCount: 0)
            self.frameSize = frameSize
        }

        /// The limit for a file: the pixels for which memory was taken. A drawing may have some more.
        init(_ options: DecodeOptions) {
            let reserved = options.reservedPixelCount.map { max($0, 1 << 22) } ?? .max
            self.init(pixelCount: min(options.maximumPixelCount, reserved), frameCount: options.maximumFrameCount)
            allowsWideColors = options.keepsWideColors
        }

        func allows(_ answer: DecodeAnswer) -> Bool {
            guard let pixels = answer.pixels else { return true }
            guard pixels.size.pixelCount <= pixelCount, allowsWideColors || pixels.colors == .standard else {
                return false
            }
            switch answer {
            // The first image of an animation has the size of its frames.
            case .image(let image):
                return image.frameCount <= frameCount && image.animation.map { $0.size == pixels.size } ?? true
            default: return frameSize.map { $0 == pixels.size } ?? true
            }
        }
    }
}
