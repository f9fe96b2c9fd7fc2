import FoundationEssentials
import WebImageCore

/// Decodes an arriving PNG file: the rows of a still image, or the complete frames of an animation.
final class PNGIncrementalDecoder: IncrementalImageDecoding {
    /// Decodes the default image.
    private var still: PNGRowDecoder?
    private let options: DecodeOptions
    /// The beginning of the file, until it shows whether the image is animated.
    private var head = Data()
    private var frames: PartialAnimation?
    private var isKnown = false
    /// Whether the default image is not part of the animation.
    private var hidesDefaultImage = false
    private var showsFrames = false

    init(_ still: PNGRowDecoder, _ options: DecodeOptions) {
        (self.still, self.options) = (still, options)
    }

    func append(_ data: Data) throws(ImageError) {
        look(at: data)
        frames?.append(data)
        if !showsFrames { try still?.append(data) }
    }

    func partialImage() -> WebImage? {
        let arrival = frames?.arrival
        let image = frames?.partialImage { data in
            PNGFile(data, frameLimit: options.frameLimit, isArriving: true).frames.count
        } decode: { data throws(ImageError) in
            try PNGCoder().decode(data, isArriving: true, arrival: arrival, options)
        }
        guard let image else { return showsFrames || hidesDefaultImage ? nil : still?.partialImage() }
        showsFrames = true
        return image
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        guard let still, still.isDone, frames == nil, !(options.keepsWideColors && still.isDeep) else {
            // Releases the pixels before the whole file is decoded.
            self.still = nil
            return try PNGCoder().decode(data, isArriving: false, arrival: frames?.arrival, options)
        }
        return try still.finish(data)
    }

    private func look(at data: Data) {
        guard !isKnown else { return }
        head.append(data)
        let file = PNGFile(head, frameLimit: 1, isArriving: true)
        // The default image may differ from the first frame.
        if file.isAnimated, frames == nil {
            frames = PartialAnimation(shownCount: options.isFirstFrameOnly ? 0 : 1)
            frames?.append(head.dropLast(data.count))
        }
        hidesDefaultImage = file.isAnimated && !file.showsDefaultImage
        isKnown = file.showsDefaultImage || file.hasPixels || head.count > 1 << 20
        if isKnown { head = Data() }
    }
}
