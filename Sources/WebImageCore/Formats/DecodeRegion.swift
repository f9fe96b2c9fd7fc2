/// A part of an image, and the factor by which it is reduced.
package struct DecodeRegion: Hashable, Sendable {
    /// The part in upright pixels of the reduced image.
    package var rect: PixelRect
    /// The power of two by which both sides of the image are divided, rounding up.
    package var reduction: Int

    package init(rect: PixelRect = PixelRect(x: 0, y: 0, width: 0, height: 0), reduction: Int = 1) {
        (self.rect, self.reduction) = (rect, reduction)
    }

    /// Throws if the region is not inside an image.
    /// - Parameter size: The upright size of the image. It may exceed the pixel limit, which applies to the region only.
    package func check(in size: PixelSize, _ options: DecodeOptions) throws(ImageError) {
        guard !size.isEmpty, reduction > 0, reduction & (reduction - 1) == 0, rect.isInside(size.divided(by: reduction))
        else {
            throw options.badData("The image has \(size) pixels, among which the region does not lie")
        }
        try options.check(rect.size)
    }
}

extension PixelRect {
    /// The rectangle in stored pixels, before the orientation is applied.
    /// - Parameter size: The stored size of the image.
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

    /// The rectangle with a margin on all sides, clipped to an image.
    package func widened(by margin: Int, in size: PixelSize) -> PixelRect {
        let (left, top) = (max(x - margin, 0), max(y - margin, 0))
        return PixelRect(
            x: left,
            y: top,
            width: min(x + self.size.width + margin, size.width) - left,
            height: min(y + self.size.height + margin, size.height) - top
        )
    }

    /// The rectangle with both corners multiplied, clipped to an image.
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
    /// The pixels of a part as rows, valid while the buffer is retained.
    package func rows(in rect: PixelRect) -> PixelRows {
        PixelRows(
            start: baseAddress + rect.y * bytesPerRow + rect.x * bytesPerPixel,
            size: rect.size,
            bytesPerRow: bytesPerRow,
            layout: hasAlpha ? .premultiplied : .rgb
        )
    }

    /// A copy of a part of the pixels; `nil` if out of memory.
    package func cropped(to rect: PixelRect, orientation: ImageOrientation = .up) -> PixelBuffer? {
        withExtendedLifetime(self) { PixelBuffer(rows(in: rect), orientation: orientation) }
    }
}
