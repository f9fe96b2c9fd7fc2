import FoundationEssentials
package import WebImageCore

extension DecodeOptions {
    /// The error for a truncated animation. Without it the animation would seem complete, since a viewer cannot see missing frames.
    package var truncatedAnimation: ImageError {
        var error = badData("The file ends in the middle of its animation: it is truncated")
        error.isOfLaterFrames = true
        return error
    }
}

/// An animated file that is still arriving. Its complete frames can be shown.
struct PartialAnimation {
    private var data = Data()
    /// The state shared by the images of the file.
    let arrival = ArrivingAnimation()
    /// The number of frames of the last partial image.
    private var shownCount: Int

    /// - Parameter shownCount: The number of frames shown before.
    init(shownCount: Int) {
        self.shownCount = shownCount
    }

    mutating func append(_ next: Data) {
        data.append(next)
    }

    /// - Parameters:
    ///   - count: Returns the number of complete frames.
    ///   - decode: Decodes those frames.
    /// - Returns: `nil` without new frames since the last call.
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
