import FoundationEssentials
import GtkWebImage

/// Tells whether cells show the images of their URLs. Each image in a cell is looked at once.
@MainActor
final class CellChecker {
    private struct Seen {
        let url: URL
        weak var pixels: PixelBuffer?
        let isOwn: Bool
    }

    private let signatures: ImageSignatures
    private var seen: [UnsafeMutableRawPointer: Seen] = [:]
    /// How many images were looked at, and how many of them belong to other URLs.
    private(set) var counts = (checked: 0, wrong: 0)

    init(_ signatures: ImageSignatures) {
        self.signatures = signatures
    }

    /// Whether the image in a cell is that of its URL.
    @discardableResult
    func isOwn(_ image: WebImage, of url: URL, in cell: PicturePointer) -> Bool {
        let pixels = image.pixels
        if let seen = seen[cell.nativeWidgetPointer], seen.pixels === pixels, seen.url == url { return seen.isOwn }
        let isOwn = signatures.isImage(image, of: url.lastPathComponent)
        seen[cell.nativeWidgetPointer] = Seen(url: url, pixels: pixels, isOwn: isOwn)
        counts.checked += 1
        if !isOwn { counts.wrong += 1 }
        return isOwn
    }
}
