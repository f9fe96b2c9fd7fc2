extension ImageTransformer {
    /// How an image is fitted to another size.
    public enum ResizeMode: Sendable {
        /// The whole image at the largest size that fits inside, keeping its aspect ratio. One side may be shorter.
        ///
        /// ![The whole image, with an outline around it, narrower than it was asked for](transformer-resize-contain)
        case contain
        /// Exactly the size, keeping the aspect ratio. Parts that exceed the size are cut off around the focus, by default the
        /// middle.
        ///
        /// ![The middle of the image, with an outline of the size that was asked for](transformer-resize-cover)
        case cover
        /// Exactly the size, changing the aspect ratio.
        ///
        /// ![The whole image, made wide, with an outline of the size that was asked for](transformer-resize-stretch)
        case stretch
        /// The whole image, centered on a transparent background of exactly the size.
        ///
        /// ![The whole image in an outline of the size that was asked for, transparent at its sides](transformer-resize-letterbox)
        case letterbox
    }
}

/// Resizes the image to a size in pixels.
struct ResizeStep: PixelTransforming {
    let size: PixelSize
    let mode: ImageTransformer.ResizeMode
    /// The point that stays in view.
    let focus: ImagePoint

    // The focus matters only for a crop.
    var key: String { "resize(\(size),\(mode)\(mode == .cover ? focus.keySuffix : ""))" }
    var keepsNaturalSize: Bool { false }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        guard !size.isEmpty else { return nil }
        let (natural, target) = (pixels.size, size)
        let factors = (Double(target.width) / Double(natural.width), Double(target.height) / Double(natural.height))
        func scaled(by factor: Double) -> PixelSize {
            PixelSize(
                width: max(1, Int(bounded: (Double(natural.width) * factor).rounded())),
                height: max(1, Int(bounded: (Double(natural.height) * factor).rounded()))
            )
        }
        let contained = scaled(by: min(factors.0, factors.1))
        guard (mode == .contain ? contained : target).isReachable(from: natural) else { return nil }
        switch mode {
        case .stretch:
            return pixels.resized(to: target, orientation: .up)
        case .contain:
            return pixels.resized(to: contained, orientation: .up)
        case .cover:
            let factor = max(factors.0, factors.1)
            // Only the visible part is scaled.
            let kept = PixelSize(
                width: min(natural.width, max(1, Int(bounded: (Double(target.width) / factor).rounded()))),
                height: min(natural.height, max(1, Int(bounded: (Double(target.height) / factor).rounded())))
            )
            let rect = focus.rect(of: kept, in: natural)
            return pixels.cropped(to: rect)?.resized(to: target, orientation: .up)
        case .letterbox:
            guard let small = pixels.resized(to: contained, orientation: .up) else { return nil }
            return small.size == target ? small : small.centered(in: target)
        }
    }
}

extension PixelBuffer {
    /// A copy of a rectangle within the image.
    func cropped(to rect: PixelRect) -> PixelBuffer? {
        if rect.covers(size) { return self }
        let count = format.bytesPerPixel
        return PixelBuffer(size: rect.size, format: format) { memory in
            for y in 0..<rect.size.height {
                (memory.baseAddress! + y * rect.size.width * count).copyMemory(
                    from: baseAddress + (rect.y + y) * bytesPerRow + rect.x * count,
                    byteCount: rect.size.width * count
                )
            }
        }
    }

    /// The image centered on a larger transparent canvas.
    fileprivate func centered(in size: PixelSize) -> PixelBuffer? {
        guard let source = converted(to: .rgbaPremultiplied) else { return nil }
        let (x, y) = ((size.width - self.size.width) / 2, (size.height - self.size.height) / 2)
        return PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            for row in 0..<source.size.height {
                (memory.baseAddress! + ((y + row) * size.width + x) * 4).copyMemory(
                    from: source.baseAddress + row * source.bytesPerRow,
                    byteCount: source.bytesPerRow
                )
            }
        }
    }
}
