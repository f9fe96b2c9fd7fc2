// The colors of single pixels, for example for a background that matches the image.
extension WebImage {
    /// The color of a pixel with straight alpha. Coordinates are from the upper left corner of ``pixels``.
    ///
    /// An image decoded at the size of a widget has fewer pixels than its file: convert points with ``pixelSize``.
    /// - Returns: `nil` outside of the image.
    public func color(x: Int, y: Int) -> ImageColor? {
        guard x < Int.max, y < Int.max else { return nil }
        return colors(x: x..<x + 1, y: y..<y + 1)?.first
    }

    /// The colors of a rectangle of ``pixels``, row by row from the top, with straight alpha.
    /// - Returns: `nil` if the rectangle is not within the image.
    package func colors(x: Range<Int>, y: Range<Int>) -> [ImageColor]? {
        let pixels = pixels
        guard (0...pixels.size.width).contains(x.lowerBound), x.upperBound <= pixels.size.width,
            (0...pixels.size.height).contains(y.lowerBound), y.upperBound <= pixels.size.height
        else { return nil }
        let (width, count) = (pixels.bytesPerRow, pixels.bytesPerPixel)
        return pixels.withUnsafeBytes { bytes in
            var colors: [ImageColor] = []
            colors.reserveCapacity(x.count * y.count)
            for y in y {
                for x in x { colors.append(ImageColor(rgba: pixels.rgba(at: y * width + x * count, in: bytes))) }
            }
            return colors
        }
    }
}

extension PixelBuffer {
    /// The color of a pixel with straight alpha, as ``ImageColor/rgba``.
    /// - Parameter start: The position of the pixel in the bytes of the buffer.
    func rgba(at start: Int, in bytes: UnsafeRawBufferPointer) -> UInt32 {
        let alpha = hasAlpha ? UInt32(bytes[start + 3]) : 255
        var rgba: UInt32 = 0
        for channel in start..<start + 3 {
            let value = UInt32(bytes[channel])
            rgba = rgba << 8 | (alpha == 0 ? 0 : min(255, (value * 255 + alpha / 2) / alpha))
        }
        return rgba << 8 | alpha
    }
}
