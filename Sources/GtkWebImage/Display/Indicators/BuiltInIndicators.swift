import Glibc

/// A spinning arc.
struct SpinnerIndicator: ImageIndicating {
    let size: Double
    var isAnimated: Bool { true }

    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double) {
        guard let ring = Ring(size, canvas) else { return }
        ring.draw(on: canvas, from: 0, to: 1, opacity: 0.15)
        // The speed is not one turn per second: at one frame per second the arc would appear to stand still.
        let turn = time * 0.9
        ring.draw(on: canvas, from: turn, to: turn + 0.3, opacity: 0.8)
    }
}

/// A ring that closes, or a spinning arc while the progress is unknown.
struct RingIndicator: ImageIndicating {
    let size: Double
    var isAnimated: Bool { true }

    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double) {
        guard let fraction else { return SpinnerIndicator(size: size).draw(on: canvas, fraction: nil, time: time) }
        guard let ring = Ring(size, canvas) else { return }
        ring.draw(on: canvas, from: 0, to: 1, opacity: 0.15)
        ring.draw(on: canvas, from: 0, to: max(fraction, 0.01), opacity: 0.8)
    }
}

/// A bar that fills, or a block that moves back and forth while the progress is unknown.
struct BarIndicator: ImageIndicating {
    var isAnimated: Bool { true }

    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double) {
        let width = min(max(canvas.width * 0.6, 24), 160, canvas.width)
        let height = min(4.0, canvas.height)
        let x = (canvas.width - width) / 2
        let y = (canvas.height - height) / 2
        canvas.bar(x: x, y: y, width: width, height: height, opacity: 0.15)
        if let fraction {
            let filled = max(width * fraction, height)
            let start = canvas.isRightToLeft ? x + width - filled : x
            canvas.bar(x: start, y: y, width: filled, height: height, opacity: 0.8)
        } else {
            let block = width * 0.3
            let position = (1 - cos(time * 2)) / 2
            canvas.bar(x: x + (width - block) * position, y: y, width: block, height: height, opacity: 0.8)
        }
    }
}

/// A circle in the center of an image; `nil` if there is no room.
@MainActor
private struct Ring {
    let x, y, radius, lineWidth: Double

    init?(_ size: Double, _ canvas: IndicatorCanvas) {
        let side = min(size, canvas.width - 4, canvas.height - 4)
        guard side >= 6 else { return nil }
        lineWidth = max(side / 10, 1.5)
        radius = (side - lineWidth) / 2
        (x, y) = (canvas.width / 2, canvas.height / 2)
    }

    func draw(on canvas: IndicatorCanvas, from start: Double, to end: Double, opacity: Double) {
        canvas.arc(x: x, y: y, radius: radius, lineWidth: lineWidth, from: start, to: end, opacity: opacity)
    }
}
