/// The transformation that makes the stored pixels of a file upright: the values of EXIF tag 0x0112 (EXIF 2.32, 4.6.4).
public enum ImageOrientation: Int, Sendable, CaseIterable {
    /// Stored upright.
    case up = 1
    /// Mirrored left to right.
    case upMirrored = 2
    /// Rotated by half a turn.
    case down = 3
    /// Mirrored top to bottom.
    case downMirrored = 4
    /// Mirrored along the diagonal from top left to bottom right.
    case leftMirrored = 5
    /// Stored so that a clockwise quarter turn makes it upright.
    case right = 6
    /// Mirrored along the diagonal from top right to bottom left.
    case rightMirrored = 7
    /// Stored so that a counter-clockwise quarter turn makes it upright.
    case left = 8

    /// Whether width and height are swapped.
    var swapsSides: Bool { rawValue >= 5 }

    /// The upright size of an image with a stored size, or the reverse.
    package func apply(to size: PixelSize) -> PixelSize { swapsSides ? size.transposed : size }
}
