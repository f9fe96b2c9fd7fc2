#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// An arc that goes round.
struct SpinnerIndicator: ImageIndicating {
    let size: Double
    var isMoving: Bool { true }

    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double) {
        guard let ring = Ring(size, canvas) else { return }
        ring.draw(on: canvas, from: 0, to: 1, opacity: 0.15)
        // Not one turn a second: where frames are few it would stand still.
        let turn = time * 0.9
        ring.draw(on: canvas, from: turn, to: turn + 0.3, opacity: 0.8)
    }
}

/// A circle that closes; an arc that goes round until it is known how much there is.
struct RingIndicator: ImageIndicating {
    let size: Double
    var isMoving: Bool { true }

    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double) {
        guard let fraction else { return SpinnerIndicator(size: size).draw(on: canvas, fraction: nil, time: time) }
        guard let ring = Ring(size, canvas) else { return }
        ring.draw(on: canvas, from: 0, to: 1, opacity: 0.15)
        ring.draw(on: canvas, from: 0, to: max(fraction, 0.01), opacity: 0.8)
    }
}

/// A bar that fills; a piece that goes to and fro until it is known how much there is.
struct BarIndicator: ImageIndicating {
    var isMoving: Bool { true }

    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double) {
        let width = min(max(canvas.width * 0.6, 24), 160, canvas.width)
        let height = min(4.0, canvas.height)
        let x = (canvas.width - width) / 2
        let y = (canvas.height - height) / 2
        canvas.bar(x: x, y: y, width: width, height: height, opacity: 0.15)
        if let fraction {
            canvas.bar(x: x, y: y, width: max(width * fraction, height), height: height, opacity: 0.8)
        } else {
            let piece = width * 0.3
            let way = (1 - cos(time * 2)) / 2
            canvas.bar(x: x + (width - piece) * way, y: y, width: piece, height: height, opacity: 0.8)
        }
    }
}

/// A circle in the middle of an image; nil where there is no room.
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
