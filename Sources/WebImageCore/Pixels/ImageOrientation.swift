/// How the pixels of a file have to be turned to be upright: the values of EXIF tag 0x0112 (EXIF 2.32, 4.6.4).
public enum ImageOrientation: Int, Sendable, CaseIterable {
    /// As stored.
    case up = 1
    /// Mirrored left to right.
    case upMirrored = 2
    /// Turned by half.
    case down = 3
    /// Mirrored top to bottom.
    case downMirrored = 4
    /// Mirrored along the diagonal from top left to bottom right.
    case leftMirrored = 5
    /// To be turned clockwise by a quarter.
    case right = 6
    /// Mirrored along the diagonal from top right to bottom left.
    case rightMirrored = 7
    /// To be turned counter-clockwise by a quarter.
    case left = 8

    /// Whether width and height change places.
    public var swapsSides: Bool { rawValue >= 5 }

    /// The upright size of an image stored as `size`, and the other way round.
    package func apply(to size: PixelSize) -> PixelSize { swapsSides ? size.transposed : size }
}
