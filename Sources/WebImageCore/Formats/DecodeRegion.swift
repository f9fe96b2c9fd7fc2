/// A part of an image, and how much smaller it is decoded.
package struct DecodeRegion: Hashable, Sendable {
    /// The part in upright pixels of the reduced image.
    package var rect: PixelRect
    /// By how much both sides of the image are divided, rounded up: a power of two.
    package var reduction: Int

    package init(rect: PixelRect = PixelRect(x: 0, y: 0, width: 0, height: 0), reduction: Int = 1) {
        (self.rect, self.reduction) = (rect, reduction)
    }

    /// Throws when the part does not lie in a file of a size.
    /// - Parameter size: The upright size of the file, which may have more pixels than the limit: only those of the part are decoded.
    package func check(in size: PixelSize, _ options: DecodeOptions) throws(ImageError) {
        guard !size.isEmpty, reduction > 0, reduction & (reduction - 1) == 0, rect.isInside(size.divided(by: reduction))
        else {
            throw options.badData("The image has \(size) pixels, among which the region does not lie")
        }
        try options.check(rect.size)
    }
}

extension PixelRect {
    /// The rectangle before an orientation was applied.
    /// - Parameter size: The size of the image as it is stored.
    package func stored(_ orientation: ImageOrientation, in size: PixelSize) -> PixelRect {
        let (fromLeft, fromTop) = (orientation.swapsSides ? y : x, orientation.swapsSides ? x : y)
        let stored = orientation.apply(to: self.size)
        let isFlippedX: Bool
        let isFlippedY: Bool
        switch orientation {
        case .up, .leftMirrored: (isFlippedX, isFlippedY) = (false, false)
        case .upMirrored, .left: (isFlippedX, isFlippedY) = (true, false)
        case .down, .rightMirrored: (isFlippedX, isFlippedY) = (true, true)
        case .downMirrored, .right: (isFlippedX, isFlippedY) = (false, true)
        }
        return PixelRect(
            x: isFlippedX ? size.width - fromLeft - stored.width : fromLeft,
            y: isFlippedY ? size.height - fromTop - stored.height : fromTop,
            width: stored.width,
            height: stored.height
        )
    }

    /// The rectangle with a margin on all sides, as far as an image reaches.
    package func widened(by margin: Int, in size: PixelSize) -> PixelRect {
        let (left, top) = (max(x - margin, 0), max(y - margin, 0))
        return PixelRect(
            x: left,
            y: top,
            width: min(x + self.size.width + margin, size.width) - left,
            height: min(y + self.size.height + margin, size.height) - top
        )
    }

    /// The rectangle with both corners multiplied, as far as an image reaches.
    package func multiplied(by factor: Int, in size: PixelSize) -> PixelRect {
        PixelRect(
            x: x * factor,
            y: y * factor,
            width: min((x + self.size.width) * factor, size.width) - x * factor,
            height: min((y + self.size.height) * factor, size.height) - y * factor
        )
    }
}

extension PixelBuffer {
    /// The pixels of a part as rows of the buffer, which must be retained while they are used.
    package func rows(in rect: PixelRect) -> PixelRows {
        PixelRows(
            start: baseAddress + rect.y * bytesPerRow + rect.x * bytesPerPixel,
            size: rect.size,
            bytesPerRow: bytesPerRow,
            layout: hasAlpha ? .premultiplied : .rgb
        )
    }

    /// A copy of a part of the pixels.
    /// - Returns: `nil` when there is no memory for it.
    package func cropped(to rect: PixelRect, orientation: ImageOrientation = .up) -> PixelBuffer? {
        withExtendedLifetime(self) { PixelBuffer(rows(in: rect), orientation: orientation) }
    }
}
