/// Crops the image to a rectangle or to its central square.
struct CropStep: PixelTransforming {
    /// The rectangle in pixels; `nil` stands for the largest square in the middle.
    let rect: PixelRect?

    var key: String { rect.map { "crop(\($0.x),\($0.y),\($0.size))" } ?? "square" }
    var keepsNaturalSize: Bool { false }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        let side = min(pixels.size.width, pixels.size.height)
        let square = PixelRect(
            x: (pixels.size.width - side) / 2,
            y: (pixels.size.height - side) / 2,
            width: side,
            height: side
        )
        return (rect ?? square).clipped(to: pixels.size).flatMap(pixels.cropped)
    }

    // A square keeps the pixel density of the image.
    func transform(_ image: WebImage) -> WebImage? {
        guard let cut = apply(to: image.pixels, scale: image.displayScale) else { return nil }
        let changed = image.replacingPixels(cut, keepsNaturalSize: false)
        guard rect == nil else { return changed }
        let side = min(image.naturalSize.width, image.naturalSize.height)
        return changed.with { $0.naturalSize = PixelSize(width: side, height: side) }
    }
}
