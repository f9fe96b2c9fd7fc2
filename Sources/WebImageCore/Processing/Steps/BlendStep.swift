/// Blends a color over the image.
struct TintStep: PixelTransforming {
    let color: ImageColor
    let mode: ImageTransformer.BlendMode

    var key: String { mode == .sourceAtop ? "tint(\(color.rgba))" : "tint(\(color.rgba),\(mode))" }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        pixels.blended(with: .color(color.pixel()), mode)
    }
}

/// Blends another image over the image.
struct OverlayStep: PixelTransforming {
    let overlay: WebImage
    /// The name that identifies the overlay in keys.
    let name: String
    /// The position of the overlay at its natural size; `nil` stretches it to the image.
    let place: ImagePoint?
    let mode: ImageTransformer.BlendMode

    var key: String {
        // The length precedes the name, which may contain any character.
        "overlay(\(mode),\(place.map { "\($0.x),\($0.y)" } ?? "all"),\(name.utf8.count):\(name))"
    }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        let canvas = pixels.size
        guard let place else {
            return overlay.pixels.resized(to: canvas, orientation: .up)
                .flatMap { pixels.blended(with: .pixels($0, x: 0, y: 0), mode) }
        }
        let size = PixelSize(
            width: max(1, Int(bounded: (overlay.logicalWidth * scale).rounded())),
            height: max(1, Int(bounded: (overlay.logicalHeight * scale).rounded()))
        )
        guard size.isReachable(from: overlay.pixelSize),
            let drawn = overlay.pixels.resized(to: size, orientation: .up)
        else { return nil }
        return pixels.blended(
            with: .pixels(
                drawn,
                x: Int(bounded: (Double(canvas.width - size.width) * place.x).rounded(.down)),
                y: Int(bounded: (Double(canvas.height - size.height) * place.y).rounded(.down))
            ),
            mode
        )
    }
}
