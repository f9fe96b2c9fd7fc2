import FoundationEssentials
import WebImageCore

extension DecodeOptions {
    /// The error for an animated file that ends too early. It would look like a whole one, since nothing tells the frames
    /// that are missing.
    var truncatedAnimation: ImageError {
        var error = badData("The file ends in the middle of its animation: it is truncated")
        error.isOfLaterFrames = true
        return error
    }
}

/// An animated file that is still arriving, of which the complete frames can be shown.
struct PartialAnimation {
    private var data = Data()
    /// What its images share.
    let arrival = ArrivingAnimation()
    /// The number of frames of the last partial image.
    private var shownCount: Int

    /// - Parameter shownCount: The number of frames that are shown already.
    init(shownCount: Int) {
        self.shownCount = shownCount
    }

    mutating func append(_ next: Data) {
        data.append(next)
    }

    /// - Parameters:
    ///   - count: Returns the number of complete frames.
    ///   - decode: Decodes those frames.
    /// - Returns: `nil` when there are no more frames than at the last call.
    mutating func partialImage(
        count: (Data) -> Int,
        decode: (Data) throws(ImageError) -> WebImage
    ) -> WebImage? {
        let count = count(data)
        guard count > shownCount, let image = try? decode(data) else { return nil }
        shownCount = count
        return image.with { $0.isPartial = true }
    }
}
