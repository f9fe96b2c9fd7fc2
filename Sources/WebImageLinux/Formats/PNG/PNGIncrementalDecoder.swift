import FoundationEssentials
import WebImageCore

/// A PNG file that is still arriving: rows of the image, and of an animated one all frames that have come whole.
///
/// `@unchecked`: a decoder is used by one thread at a time.
final class PNGIncrementalDecoder: IncrementalImageDecoding, @unchecked Sendable {
    /// Knows no frames but the first.
    private let still: any IncrementalImageDecoding
    private let coder: PNGCoder
    private let options: DecodeOptions
    /// The beginning of the file, until it is known whether there are frames.
    private var head = Data()
    private var frames: PartialAnimation?
    private var isKnown = false
    private var showsFrames = false

    init(_ still: any IncrementalImageDecoding, _ coder: PNGCoder, _ options: DecodeOptions) {
        self.still = still
        self.coder = coder
        self.options = options
    }

    func append(_ data: Data) throws(ImageError) {
        look(at: data)
        frames?.append(data)
        if !showsFrames { try still.append(data) }
    }

    func partialImage() -> WebImage? {
        let image = frames?.partialImage { data in
            PNGFile(data, frameLimit: options.frameLimit, isArriving: true).frames.count
        } decode: { data throws(ImageError) in
            try coder.decode(data, isArriving: true, options)
        }
        guard let image else { return showsFrames ? nil : still.partialImage() }
        showsFrames = true
        return image
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        if frames != nil { return try coder.decode(data, options: options) }
        return try still.finish(data)
    }

    private func look(at data: Data) {
        guard !isKnown else { return }
        head.append(data)
        let file = PNGFile(head, frameLimit: 1, isArriving: true)
        // One that only ever shows its first frame may have another image for those who know no frames.
        if file.isAnimated {
            frames = PartialAnimation(shownCount: options.isFirstFrameOnly ? 0 : 1)
            frames?.append(head.dropLast(data.count))
        }
        isKnown = file.isAnimated || file.hasPixels || head.count > 1 << 20
        if isKnown { head = Data() }
    }
}
