import FoundationEssentials

/// Flings a wall for some seconds and measures the frames.
@MainActor
final class Fling {
    private let grid: WallGrid
    private let motion: FlingMotion
    private let painted: () -> Void
    private var loop: FrameLoop?
    private var times = FrameTimes()
    /// When the last frame was begun, in microseconds.
    private var last: Int64?
    /// How many seconds of the motion are over.
    private var seconds = 0.0
    private var continuation: CheckedContinuation<FrameTimes?, Never>?

    /// - Parameter painted: Called when a frame has been drawn.
    init(_ grid: WallGrid, _ motion: FlingMotion, painted: @escaping () -> Void) {
        (self.grid, self.motion, self.painted) = (grid, motion, painted)
    }

    /// Flings the wall, from its top.
    /// - Returns: The times of the frames; `nil` when it was stopped.
    func run() async -> FrameTimes? {
        await withCheckedContinuation { continuation in
            self.continuation = continuation
            loop = FrameLoop(grid.widget) { [weak self] in
                self?.move(at: $0)
            } painted: { [weak self] in
                self?.measure(at: $0)
            }
            if loop == nil { end(with: nil) }
        }
    }

    /// Ends the fling before its time.
    func stop() { end(with: nil) }

    private func move(at time: Int64) {
        seconds += Double(time - (last ?? time)) / 1_000_000
        last = time
        guard seconds < motion.duration else { return end(with: times) }
        grid.offset = motion.offset(at: seconds, end: grid.end)
    }

    private func measure(at time: Int64) {
        guard last != nil, loop != nil else { return }
        times.add(time)
        painted()
    }

    private func end(with result: FrameTimes?) {
        loop?.stop()
        loop = nil
        continuation?.resume(returning: result)
        continuation = nil
    }
}
