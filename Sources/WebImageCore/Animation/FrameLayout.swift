/// The place of one frame on the canvas, and its disposal, as GIF, APNG and WebP define them.
package struct FrameLayout: Sendable {
    /// The change to the canvas before the next frame is drawn.
    package enum Disposal: Sendable {
        /// Leaves the frame in place.
        case keep
        /// Makes the rectangle of the frame transparent.
        case clear
        /// Restores the pixels from before the frame was drawn.
        case restore
    }

    /// The position on the canvas, in pixels. It lies within the canvas.
    package var rect: PixelRect
    /// The duration given in the file.
    package var duration: Duration
    package var disposal: Disposal
    /// Whether the frame is blended over the canvas instead of replacing its pixels.
    package var isBlended: Bool
    /// Whether the frame may contain transparent pixels.
    package var hasAlpha: Bool

    package init(rect: PixelRect, duration: Duration, disposal: Disposal, isBlended: Bool, hasAlpha: Bool) {
        self.rect = rect
        self.duration = duration
        self.disposal = disposal
        self.isBlended = isBlended
        self.hasAlpha = hasAlpha
    }
}

extension [FrameLayout] {
    /// Returns for each frame whether it can be drawn without earlier frames.
    func independence(on canvas: PixelSize) -> [Bool] {
        var isIndependent: [Bool] = []
        for (index, layout) in enumerated() {
            let replacesAll =
                layout.rect.covers(canvas) && !(layout.isBlended && layout.hasAlpha) && layout.disposal != .restore
            let startsEmpty =
                index == 0
                || self[index - 1].disposal == .clear
                    && (self[index - 1].rect.covers(canvas) || isIndependent[index - 1])
            isIndependent.append(replacesAll || startsEmpty)
        }
        return isIndependent
    }

    /// Whether any composed frame has transparent pixels.
    package func hasTransparency(on canvas: PixelSize) -> Bool {
        guard let first else { return true }
        // If the first frame covers the canvas, only a later disposal or a replacing frame can make it transparent.
        if first.hasAlpha || !first.rect.covers(canvas) || first.disposal == .restore { return true }
        return contains { $0.disposal == .clear || $0.hasAlpha && !$0.isBlended }
    }
}
