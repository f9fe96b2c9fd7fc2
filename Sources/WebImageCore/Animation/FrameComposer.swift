/// Composes the frames of an animation. For a frame out of order, it starts at the nearest frame that does not depend
/// on earlier ones.
///
/// @unchecked: one thread at a time uses a frame decoder, as FrameDecoding requires.
package final class FrameComposer: InterruptibleFrameDecoding, @unchecked Sendable {
    private let source: any FrameSource
    private let layouts: [FrameLayout]
    private let isIndependent: [Bool]
    private let target: PixelSize
    private let orientation: ImageOrientation
    private let hasAlpha: Bool
    private let options: DecodeOptions
    private let size: PixelSize
    private var canvas: FrameCanvas?
    /// The memory of the canvas and of `saved`.
    private var reservation: MemoryBudget.Reservation?
    package private(set) var missingMemory: MissingMemory?
    /// The index of the frame on the canvas, before its disposal; `nil` while the canvas is undefined.
    private var current: Int?
    /// The pixels beneath the current frame, if its disposal restores them.
    private var saved: [UInt32] = []
    /// Whether the pixels beneath a frame are kept for its disposal.
    private var keepsBeneath = true

    /// - Parameters:
    ///   - source: Decodes single frames.
    ///   - layouts: The layout of each frame, each within the canvas.
    ///   - size: The size of the canvas in pixels, before orientation.
    ///   - target: The size of the composed frames in pixels, before orientation.
    ///   - orientation: Turns the composed frames upright.
    ///   - options: Provides the URL for errors.
    package init(
        _ source: any FrameSource,
        _ layouts: [FrameLayout],
        size: PixelSize,
        target: PixelSize,
        orientation: ImageOrientation,
        options: DecodeOptions
    ) {
        (self.source, self.layouts, self.size, self.target) = (source, layouts, size, target)
        (self.orientation, self.options) = (orientation, options)
        isIndependent = source.isSequential ? layouts.indices.map { $0 == 0 } : layouts.independence(on: size)
        hasAlpha = layouts.hasTransparency(on: size)
    }

    package func frame(
        towards index: Int,
        stopsEarly: () -> Bool
    ) throws(ImageError) -> (index: Int, pixels: PixelBuffer) {
        try compose(towards: index, stopsEarly: stopsEarly)
        let rows = PixelRows(start: canvas!.pixels, size: size, layout: hasAlpha ? .premultiplied : .rgbx)
        guard let pixels = rows.resized(to: target, orientation: orientation) else {
            throw options.outOfMemory(target)
        }
        return (current ?? index, pixels)
    }

    /// Decodes the first frame, which takes over the memory of the canvas.
    func takeFirstFrame() throws(ImageError) -> PixelBuffer {
        // No later frame restores the pixels beneath the first one.
        keepsBeneath = false
        defer { keepsBeneath = true }
        try compose(towards: 0) { false }
        let pixels = canvas!.takePixels(hasAlpha: hasAlpha)
        releaseMemory()
        return try pixels.resized(to: target, orientation: orientation, options)
    }

    /// Draws a frame on the canvas, or a frame on the way to it.
    private func compose(towards index: Int, stopsEarly: () -> Bool) throws(ImageError) {
        missingMemory = nil
        guard layouts.indices.contains(index) else {
            throw options.badData("The animation has \(layouts.count) frames, so there is no frame \(index)")
        }
        if canvas == nil {
            if let budget = options.budget, reservation == nil {
                reservation = budget.keep(byteCount)
                guard reservation != nil else {
                    missingMemory = MissingMemory(budget: budget, byteCount: byteCount)
                    throw noRoom
                }
            }
            canvas = FrameCanvas(size: size)
        }
        guard canvas != nil else { throw options.outOfMemory(size) }
        if current != index {
            var next = index
            while next > 0, next - 1 != current, !isIndependent[next] { next -= 1 }
            try draw(from: next, through: index, stopsEarly)
        }
    }

    package func releaseMemory() {
        (canvas, current, saved) = (nil, nil, [])
        reservation = nil
    }

    package func takeOver(from other: any FrameDecoding) {
        // If restoring needs more pixels than before, memory for them is not reserved yet.
        guard let other = other as? FrameComposer, other !== self, other.size == size, other.byteCount == byteCount
        else { return }
        (canvas, current, saved, reservation) = (other.canvas, other.current, other.saved, other.reservation)
        other.releaseMemory()
    }

    /// The bytes of the canvas, and of the pixels beneath a frame that restores them.
    private var byteCount: Int {
        let saved = layouts.lazy.filter { $0.disposal == .restore }.map(\.rect.size.pixelCount).max() ?? 0
        return size.pixelCount.boundedSum(saved).boundedProduct(4)
    }

    private var noRoom: ImageError {
        ImageError(
            .imageTooLarge,
            url: options.url,
            reason: "The animations that play leave no memory for a canvas of \(size) pixels",
            remedy:
                "Show fewer large animations at a time, or smaller files; this one stands still until another one ends."
        ).dependingOnRequest()
    }

    private func draw(from first: Int, through last: Int, _ stopsEarly: () -> Bool) throws(ImageError) {
        for index in first...last {
            let previous = current
            // An error on the way leaves the canvas undefined.
            current = nil
            if isIndependent[index] {
                // In the common case, a frame covers the whole canvas with opaque pixels and needs no clearing.
                if layouts[index].hasAlpha || !layouts[index].rect.covers(size) {
                    canvas!.pixels.update(repeating: 0, count: size.pixelCount)
                }
            } else if previous == index - 1 {
                dispose(of: index - 1)
            }
            let layout = layouts[index]
            if layout.disposal == .restore, keepsBeneath { canvas!.save(layout.rect, in: &saved) }
            try source.draw(index, on: canvas!)
            current = index
            if index < last, stopsEarly() { return }
        }
    }

    private func dispose(of index: Int) {
        switch layouts[index].disposal {
        case .keep: break
        case .clear: canvas!.clear(layouts[index].rect)
        case .restore: canvas!.restore(layouts[index].rect, from: saved)
        }
    }
}
