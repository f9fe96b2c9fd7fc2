/// Where a frame of an animation goes, and what happens to it afterwards: what GIF, APNG and WebP have in common.
package struct FrameLayout: Sendable {
    /// What a frame leaves behind for the next one.
    package enum Disposal: Sendable {
        /// Itself.
        case keep
        /// Nothing: its rectangle becomes transparent.
        case clear
        /// What was there before it.
        case restore
    }

    /// On the canvas, in pixels; inside of it.
    package var rect: PixelRect
    /// As the file has it.
    package var duration: Duration
    package var disposal: Disposal
    /// Whether it shows through where it is not opaque, instead of replacing what is there.
    package var isBlended: Bool
    /// Whether it can have pixels that are not opaque.
    package var hasAlpha: Bool

    package init(rect: PixelRect, duration: Duration, disposal: Disposal, isBlended: Bool, hasAlpha: Bool) {
        self.rect = rect
        self.duration = duration
        self.disposal = disposal
        self.isBlended = isBlended
        self.hasAlpha = hasAlpha
    }
}

/// A rectangle of pixels.
package struct PixelRect: Hashable, Sendable {
    package var x: Int
    package var y: Int
    package var size: PixelSize

    package init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y) = (x, y)
        size = PixelSize(width: width, height: height)
    }

    package func covers(_ canvas: PixelSize) -> Bool { x == 0 && y == 0 && size == canvas }

    package func isInside(_ canvas: PixelSize) -> Bool {
        x >= 0 && y >= 0 && !size.isEmpty && x <= canvas.width - size.width && y <= canvas.height - size.height
    }

    /// What of it is on a canvas; nil when nothing is.
    package func clipped(to canvas: PixelSize) -> PixelRect? {
        let (left, top) = (max(x, 0), max(y, 0))
        let width = min(x + size.width, canvas.width) - left
        let height = min(y + size.height, canvas.height) - top
        return width > 0 && height > 0 ? PixelRect(x: left, y: top, width: width, height: height) : nil
    }
}

extension [FrameLayout] {
    /// Which frames do not depend on those before them.
    package func independence(on canvas: PixelSize) -> [Bool] {
        var isIndependent: [Bool] = []
        for (index, layout) in enumerated() {
            let isAlone =
                layout.rect.covers(canvas) && !(layout.isBlended && layout.hasAlpha) && layout.disposal != .restore
            let isOnNothing =
                index == 0
                || self[index - 1].disposal == .clear
                    && (self[index - 1].rect.covers(canvas) || isIndependent[index - 1])
            isIndependent.append(isAlone || isOnNothing)
        }
        return isIndependent
    }

    /// Whether any frame shows pixels that are not opaque.
    package func showAlpha(on canvas: PixelSize) -> Bool {
        guard let first else { return true }
        // What the first frame covers stays covered, unless somebody takes it away or puts something else in its place.
        if first.hasAlpha || !first.rect.covers(canvas) || first.disposal == .restore { return true }
        return contains { $0.disposal == .clear || $0.hasAlpha && !$0.isBlended }
    }
}
