/// Puts the frames of an animation together, from wherever it has to begin.
///
/// @unchecked: used by one thread at a time.
package final class FrameComposer: FrameDecoding, @unchecked Sendable {
    private let source: any FrameSource
    private let layouts: [FrameLayout]
    private let isIndependent: [Bool]
    private let target: PixelSize
    private let orientation: ImageOrientation
    private let hasAlpha: Bool
    private let options: DecodeOptions
    private let size: PixelSize
    private var canvas: FrameCanvas?
    /// The frame that the canvas shows, before it is disposed of.
    private var current: Int?
    /// What was under the current frame, when that is to come back.
    private var saved: [UInt32] = []

    /// - Parameters:
    ///   - source: Decodes single frames.
    ///   - layouts: Of all frames, each inside of the canvas.
    ///   - size: Of the canvas as stored.
    ///   - target: The size of the images, as stored.
    package init(
        _ source: any FrameSource,
        _ layouts: [FrameLayout],
        size: PixelSize,
        target: PixelSize,
        _ orientation: ImageOrientation,
        _ options: DecodeOptions
    ) {
        self.source = source
        self.layouts = layouts
        self.size = size
        self.target = target
        self.orientation = orientation
        self.options = options
        isIndependent = layouts.independence(on: size)
        hasAlpha = layouts.showAlpha(on: size)
    }

    package func frame(at index: Int) throws(ImageError) -> PixelBuffer {
        guard layouts.indices.contains(index) else {
            throw options.badData("The animation has \(layouts.count) frames, none of them is number \(index)")
        }
        if canvas == nil { canvas = FrameCanvas(size: size) }
        guard canvas != nil else { throw options.outOfMemory(size) }
        if current != index {
            var next = index
            while next > 0, next - 1 != current, !isIndependent[next] { next -= 1 }
            // What goes wrong on the way leaves a canvas that nothing can be said about.
            let before = current
            current = nil
            try draw(from: next, through: index, after: before)
            current = index
        }
        guard let picture = canvas!.picture(at: target, orientation, hasAlpha: hasAlpha) else {
            throw options.outOfMemory(target)
        }
        return picture
    }

    private func draw(from first: Int, through last: Int, after current: Int?) throws(ImageError) {
        for index in first...last {
            if isIndependent[index] {
                // Most frames of images without alpha cover all that was there.
                if layouts[index].hasAlpha || !layouts[index].rect.covers(size) { canvas!.clear() }
            } else if index > first || current == first - 1 {
                dispose(of: index - 1)
            }
            let layout = layouts[index]
            if layout.disposal == .restore { canvas!.save(layout.rect, in: &saved) }
            try source.draw(index, on: canvas!)
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
