/// Changes a decoded picture before it is cached in memory and shown: one step of an ``ImageTransformer``. Runs on the
/// decode lane, several at a time.
public protocol ImageTransforming: Sendable {
    /// Names the step with its parameters: two with equal keys do the same to every picture.
    var key: String { get }

    /// The changed picture. Partial pictures come through here too, and each frame of an animated picture as a picture
    /// of its own when it is about to be shown.
    /// - Returns: `nil` when it cannot be done, which ends the load in ``ImageError/Code/transformFailed``.
    func transform(_ image: WebImage) -> WebImage?
}

/// A step that makes pixels of pixels.
protocol PixelTransforming: ImageTransforming {
    /// Whether the picture keeps the size that it is shown at when nothing else decides.
    var keepsNaturalSize: Bool { get }

    /// - Parameter scale: Pixels per application pixel where the picture is shown.
    /// - Returns: `nil` when there is no memory, or nothing of the picture is left.
    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer?
}

extension PixelTransforming {
    var keepsNaturalSize: Bool { true }

    func transform(_ image: WebImage) -> WebImage? {
        apply(to: image.pixels, scale: image.displayScale)
            .map { image.replacingPixels($0, keepsNaturalSize: keepsNaturalSize) }
    }
}
