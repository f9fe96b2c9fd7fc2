/// Crops the image to a rectangle.
struct CropStep: PixelTransforming {
    /// The rectangle in pixels.
    let rect: PixelRect

    var key: String { "crop(\(rect.x),\(rect.y),\(rect.size))" }
    var keepsNaturalSize: Bool { false }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        rect.clipped(to: pixels.size).flatMap(pixels.cropped)
    }
}

/// Crops the image to a size, around a point.
struct FocusedCropStep: PixelTransforming {
    /// The size in pixels. A shorter side of the image is not cropped.
    let size: PixelSize
    let focus: ImagePoint

    var key: String { "crop(\(size)\(focus.keySuffix))" }
    var keepsNaturalSize: Bool { false }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        guard !size.isEmpty else { return nil }
        let part = PixelSize(
            width: min(size.width, pixels.size.width),
            height: min(size.height, pixels.size.height)
        )
        return pixels.cropped(to: focus.rect(of: part, in: pixels.size))
    }
}

/// Crops the image to the largest square around a point.
struct SquareStep: PixelTransforming {
    let focus: ImagePoint

    var key: String { focus == .center ? "square" : "square(\(focus.x),\(focus.y))" }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        let side = min(pixels.size.width, pixels.size.height)
        return pixels.cropped(to: focus.rect(of: PixelSize(width: side, height: side), in: pixels.size))
    }

    // Overridden because a square keeps the pixel density of the image.
    func transform(_ image: WebImage) -> WebImage? {
        guard let cut = apply(to: image.pixels, scale: image.displayScale) else { return nil }
        let side = min(image.naturalSize.width, image.naturalSize.height)
        return image.replacingPixels(cut, keepsNaturalSize: true)
            .with { $0.naturalSize = PixelSize(width: side, height: side) }
    }
}
