package import FoundationEssentials

/// A small version of a file that another program has made.
package struct SharedThumbnail: Sendable {
    /// The longest side that a thumbnail may have, in pixels.
    static let longestSide = 1024
    /// A thumbnail is enlarged to at most this many bytes. GTK scales it further when drawing.
    static let largestByteCount = 1 << 20

    /// A PNG file.
    package var data: Data
    /// The size of the upright file in pixels, if it is known. Its sides may be swapped.
    package var naturalSize: PixelSize?

    package init(data: Data) {
        self.data = data
    }
}

/// Finds small versions of files that other programs have made.
package protocol SharedThumbnailFinding: Sendable {
    /// The small version of the current file. It may block.
    /// - Parameter longestSide: The wanted length of the longer side, in pixels.
    func thumbnail(of file: URL, longestSide: Int) -> SharedThumbnail?
}
