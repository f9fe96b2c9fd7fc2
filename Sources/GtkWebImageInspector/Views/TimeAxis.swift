internal import CWebImageGtk4

/// The time axis of all bars: the time during which any of its loads runs. Pauses are cut out, so that a long session stays readable.
struct TimeAxis: Equatable {
    /// The time of the loads, in order and apart from each other.
    private var spans: [Range<ContinuousClock.Instant>] = []
    private let length: Duration

    init(_ lines: some Sequence<LoadLine>, now: ContinuousClock.Instant) {
        for line in lines.sorted(by: { $0.start < $1.start }) {
            let end = max(line.end ?? now, line.start)
            if let last = spans.last, line.start <= last.upperBound {
                spans[spans.count - 1] = last.lowerBound..<max(last.upperBound, end)
            } else {
                spans.append(line.start..<end)
            }
        }
        length = spans.reduce(.zero) { $0 + ($1.upperBound - $1.lowerBound) }
    }

    func position(of time: ContinuousClock.Instant, in width: Double) -> Double {
        guard length > .zero else { return 0 }
        let passed = spans.prefix { $0.lowerBound < time }.reduce(Duration.zero) {
            $0 + (min($1.upperBound, time) - $1.lowerBound)
        }
        return passed / length * width
    }

    /// The times with a label, at least 60 pixels apart: multiples of 1, 2 or 5 of a unit.
    func ticks(in width: Double) -> [(x: Double, time: Duration)] {
        guard length > .zero, width >= 60 else { return [] }
        let shortest = length * (60 / width)
        var (step, factor) = (Duration.microseconds(1), 0)
        while step < shortest {
            step = factor % 3 == 1 ? step * 2.5 : step * 2
            factor += 1
        }
        return (0...Int(length / step)).map { (step * $0 / length * width, step * $0) }
    }

    @MainActor
    func drawLabels(_ painter: Painter) {
        for tick in ticks(in: painter.width) {
            let text = painter.makeText(tick.time == .zero ? "0" : tick.time.inMilliseconds)
            painter.fill(Box(x: tick.x, y: painter.height - 4, width: 1, height: 4), painter.foreground(0.4))
            // The last label may have no space.
            guard tick.x + text.width <= painter.width else { continue }
            painter.draw(text, x: tick.x + 3, y: painter.height - text.height, painter.foreground(0.7))
        }
    }

    /// Draws the bars of a line: a track from request to end, with each stage in its color.
    @MainActor
    func draw(_ line: LoadLine, now: ContinuousClock.Instant, _ painter: Painter) {
        for tick in ticks(in: painter.width) {
            painter.fill(Box(x: tick.x, y: 0, width: 1, height: painter.height), painter.foreground(0.12))
        }
        let left = position(of: line.start, in: painter.width)
        let right = position(of: line.end ?? now, in: painter.width)
        let track = Box(x: left, y: painter.height / 2 - 1, width: max(right - left, 2), height: 2)
        painter.fill(track, painter.foreground(0.25))
        for span in line.spans {
            let start = position(of: span.start, in: painter.width)
            let end = position(of: span.end, in: painter.width)
            // A minimum width keeps stages of microseconds visible.
            let width = max(end - start, 1.5)
            let x = min(start, painter.width - width)
            painter.fill(Box(x: x, y: 0, width: width, height: painter.height), Palette.color(of: span.stage))
        }
        if case .failed = line.state {
            let x = min(right, painter.width - 4)
            painter.fill(Box(x: max(x, 0), y: 0, width: 4, height: painter.height), Palette.failure)
        }
    }
}
