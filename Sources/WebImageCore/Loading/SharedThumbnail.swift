package import FoundationEssentials

/// A small version of a file that another program has made.
package struct SharedThumbnail: Sendable {
    /// The longest side that a thumbnail may have, in pixels.
    static let longestSide = 1024
    /// A thumbnail is enlarged to at most so many bytes. From there on GTK does the rest while it draws.
    static let largestByteCount = 1 << 20

    /// A PNG file.
    package var data: Data
    /// The size of the upright file in pixels, if it is known; its sides may be exchanged.
    package var naturalSize: PixelSize?

    package init(data: Data) {
        self.data = data
    }
}

/// Finds small versions of files that other programs have made.
package protocol SharedThumbnailFinding: Sendable {
    /// The small version of a file as it is now. It may block.
    /// - Parameter longestSide: The longer side that is wanted, in pixels.
    func thumbnail(of file: URL, longestSide: Int) -> SharedThumbnail?
}
