internal import CWebImageGtk4

/// The bars of a line: a track from request to end, with each stage in its color.
@MainActor
struct StageBar {
    /// The start and length of time across the width.
    struct Axis: Equatable {
        let start: ContinuousClock.Instant
        let length: Duration

        func position(of time: ContinuousClock.Instant, in width: Double) -> Double {
            guard length > .zero else { return 0 }
            return min(max((time - start) / length, 0), 1) * width
        }
    }

    /// The axes of lines. Requests in quick succession share one, so that it shows their overlap.
    static func axes(of lines: [LoadLine], now: ContinuousClock.Instant) -> [Int: Axis] {
        var axes: [Int: Axis] = [:]
        var group: [Int] = []
        var (start, end) = (now, now)
        func close() {
            for id in group { axes[id] = Axis(start: start, length: max(end - start, .milliseconds(1))) }
        }
        for line in lines {
            let lineEnd = line.end ?? now
            let isNear = line.start - end < .milliseconds(300) && line.start - start < .seconds(2)
            if group.isEmpty || !isNear {
                close()
                group = []
                (start, end) = (line.start, lineEnd)
            }
            group.append(line.id)
            end = max(end, lineEnd)
        }
        close()
        return axes
    }

    static func draw(_ line: LoadLine, on axis: Axis, now: ContinuousClock.Instant, _ painter: Painter) {
        let left = axis.position(of: line.start, in: painter.width)
        let right = axis.position(of: line.end ?? now, in: painter.width)
        let track = Box(x: left, y: painter.height / 2 - 1, width: max(right - left, 2), height: 2)
        painter.fill(track, painter.foreground(0.25))
        for span in line.spans {
            let start = axis.position(of: span.start, in: painter.width)
            let end = axis.position(of: span.end, in: painter.width)
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
