import FoundationEssentials
import WebImageCore

/// The bytes of an animated file that is still arriving, and the frames that are whole by now.
struct PartialAnimation {
    private var data = Data()
    /// How many frames the last partial image had.
    private var shownCount: Int

    /// - Parameter shownCount: Frames that somebody else shows.
    init(shownCount: Int) {
        self.shownCount = shownCount
    }

    mutating func append(_ next: Data) {
        data.append(next)
    }

    /// - Parameters:
    ///   - count: Says how many frames are whole.
    ///   - decode: Makes an image of those.
    /// - Returns: `nil` when there are no more than the last time.
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
