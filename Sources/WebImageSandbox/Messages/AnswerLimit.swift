import FoundationEssentials
import WebImageCore

extension DecodeAnswer {
    /// What an answer may contain. A worker can claim any size for its memory, and the app would have to map it.
    struct Limit {
        var pixelCount: Int
        var frameCount: Int
        /// Whether pixels may have colors beyond 8-bit sRGB.
        var allowsWideColors = false
        /// The size of the frames of an animation.
        var frameSize: PixelSize?
        /// The size in the header that the app has read, in either orientation; `nil` for a file without a header.
        var storedSize: PixelSize?

        static let none = Limit(pixelCount: 0, frameCount: 0)

        init(pixelCount: Int, frameCount: Int) {
            (self.pixelCount, self.frameCount) = (pixelCount, frameCount)
        }

        /// The limit for a frame.
        init(frameSize: PixelSize) {
            self.init(pixelCount: frameSize.pixelCount, frameCount: 0)
            self.frameSize = frameSize
        }

        /// The limit for a file: the pixels that memory was reserved for. A drawing may have some more.
        init(_ options: DecodeOptions) {
            let reserved = options.reservedPixelCount.map { max($0, 1 << 22) } ?? .max
            self.init(pixelCount: min(options.maximumPixelCount, reserved), frameCount: options.maximumFrameCount)
            allowsWideColors = options.keepsWideColors
        }

        /// The limit for a file that must not be larger than its header says. Frames of video may be cropped
        /// differently, and the largest image of an icon may be damaged.
        init(_ options: DecodeOptions, _ file: Data) {
            self.init(options)
            let header = ImageHeader(reading: file, hint: options.formatHint)
            if let header, ![.avif, .heif, .ico].contains(header.format) { storedSize = header.storedSize }
        }

        private func isInHeader(_ size: PixelSize) -> Bool {
            guard let stored = storedSize else { return true }
            return max(size.width, size.height) <= max(stored.width, stored.height)
                && min(size.width, size.height) <= min(stored.width, stored.height)
        }

        func allows(_ answer: DecodeAnswer) -> Bool {
            guard let pixels = answer.pixels else { return true }
            guard pixels.size.pixelCount <= pixelCount, allowsWideColors || pixels.colors == .standard else {
                return false
            }
            switch answer {
            // The first image of an animation has the size of its frames.
            case .image(let image):
                return [image.naturalSize, image.sourceSize].allSatisfy(isInHeader) && image.frameCount <= frameCount
                    && image.animation.map { $0.size == pixels.size } ?? true
            default: return frameSize.map { $0 == pixels.size } ?? true
            }
        }
    }
}
