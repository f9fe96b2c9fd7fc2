/// Mirrors the image.
struct FlipStep: PixelTransforming {
    let isHorizontal: Bool
    let isVertical: Bool

    var key: String { "flip(\(isHorizontal),\(isVertical))" }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        switch (isHorizontal, isVertical) {
        case (false, false): pixels
        case (true, false): pixels.oriented(.upMirrored)
        case (false, true): pixels.oriented(.downMirrored)
        case (true, true): pixels.oriented(.down)
        }
    }
}
