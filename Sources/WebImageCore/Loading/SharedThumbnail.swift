package import FoundationEssentials

/// A small version of a file that another program has made.
package struct SharedThumbnail: Sendable {
    /// The longest side that a thumbnail may have, in pixels.
    private static let longestSide = 1024
    /// A thumbnail is enlarged to at most this many bytes. GTK scales it further when drawing.
    private static let largestByteCount = 1 << 20

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

extension SharedThumbnail {
    /// The thumbnail as a partial image of its file.
    /// - Returns: `nil` if it cannot be a small version of the image.
    func image(_ options: DecodeOptions, _ coders: CoderRegistry) -> WebImage? {
        // Thumbnails are upright.
        guard options.appliesOrientation, var natural = naturalSize, (try? options.check(natural)) != nil,
            let header = ImageHeader(reading: data), header.format == .png,
            max(header.size.width, header.size.height) <= Self.longestSide,
            let decoded = try? coders.decode(data, options: DecodeOptions())
        else { return nil }
        // Some programs write the size that the image has before it is turned upright.
        if !decoded.pixelSize.hasShape(of: natural) {
            natural = PixelSize(width: natural.height, height: natural.width)
        }
        guard decoded.pixelSize.hasShape(of: natural) else { return nil }
        let target = options.size.target(for: natural)
        let size = DecodeSize.within(byteCount: Self.largestByteCount).target(for: target)
        return decoded.pixels.resized(to: size, orientation: .up).map { pixels in
            WebImage(pixels: pixels, naturalSize: natural, scale: options.scale, isPartial: true).with { content in
                (content.isThumbnail, content.decodedSize) = (true, target)
            }
        }
    }
}

extension PixelSize {
    /// Whether both have the same aspect ratio, apart from the rounding of their sides.
    fileprivate func hasShape(of other: PixelSize) -> Bool {
        let (first, second) = (Double(width) * Double(other.height), Double(height) * Double(other.width))
        // A side of 128 pixels is off by up to half a pixel, and one of 4 by an eighth of it.
        let tolerance = 0.02 + 0.5 / Double(max(1, min(width, height)))
        return abs(first - second) <= max(first, second) * tolerance
    }
}
