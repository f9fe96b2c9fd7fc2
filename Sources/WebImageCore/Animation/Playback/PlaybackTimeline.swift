/// The schedule of an animation: which frame is due at which time. It has no clock.
package struct PlaybackTimeline: Sendable {
    /// A position in the schedule.
    package struct Position: Sendable, Equatable {
        /// The index of the frame in the file.
        package var frame: Int
        /// The number of completed loops.
        package var loop: Int
        /// The number of frames before this one in all loops. It distinguishes repetitions of a frame.
        package var step: Int
        /// The time at which the next frame is due; `nil` after the last frame.
        package var end: Duration?
    }

    /// The frames of one loop, in order.
    private let order: [Int]
    /// The start of each frame within the loop, followed by the duration of the loop.
    private let starts: [Duration]
    /// The number of loops; 0 means endlessly.
    package let loopCount: Int
    /// The number of frames of the file.
    let frameCount: Int
    /// The frame that stays after the last loop.
    private let lastFrame: Int

    /// - Parameters:
    ///   - durations: The durations of the frames of the file; at least one.
    ///   - loopCount: The number of loops; 0 means endlessly.
    package init(durations: [Duration], mode: ImagePlayback.Mode, loopCount: Int) {
        frameCount = durations.count
        let up = Array(0..<frameCount)
        // The first and the last frame of a bounce appear once per loop, not twice.
        order =
            switch mode {
            case .normal: up
            case .reverse: up.reversed()
            case .bounce: up + up.dropFirst().dropLast().reversed()
            case .reversedBounce: up.reversed() + up.dropFirst().dropLast()
            }
        var starts = [Duration.zero]
        for frame in order { starts.append(starts[starts.count - 1] + durations[frame]) }
        self.starts = starts
        // No animation plays more often, and the duration of all loops stays finite.
        self.loopCount = min(max(loopCount, 0), Int(Int32.max))
        lastFrame =
            switch mode {
            case .normal, .reversedBounce: frameCount - 1
            case .reverse, .bounce: 0
            }
    }

    /// The duration of one loop.
    package var loopDuration: Duration { starts[starts.count - 1] }

    /// The duration of all loops; `nil` for an endless animation.
    package var totalDuration: Duration? { loopCount > 0 ? loopDuration * loopCount : nil }

    /// Returns the position after a playback time at rate 1.
    package func position(at elapsed: Duration) -> Position {
        let elapsed = elapsed.bounded
        let loop = Int(bounded: elapsed / loopDuration)
        if loopCount > 0, loop >= loopCount {
            return Position(frame: lastFrame, loop: loopCount, step: loopCount * order.count, end: nil)
        }
        let within = elapsed - loopDuration * loop
        let index = index(at: within)
        return Position(
            frame: order[index],
            loop: loop,
            step: loop * order.count + index,
            end: loopDuration * loop + starts[index + 1]
        )
    }

    /// Returns the nearest existing loop. Nothing plays after the last one.
    func nearest(loop: Int) -> Int { min(max(loop, 0), loopCount > 0 ? loopCount - 1 : Int(Int32.max)) }

    /// Returns a loop that has a start time, because endless animations may have played for long.
    package func bounded(loop: Int) -> Int { min(max(loop, 0), Int(Int32.max)) }

    /// Returns the time at which a frame first appears in the nearest existing loop.
    package func start(ofFrame frame: Int, loop: Int) -> Duration? {
        guard let index = order.firstIndex(of: frame) else { return nil }
        return loopDuration * nearest(loop: loop) + starts[index]
    }

    /// Whether no frame follows a position.
    func isLast(_ position: Position) -> Bool {
        guard let end = position.end else { return true }
        return end == totalDuration
    }

    /// Returns the time at which the last frame of a loop appears.
    package func startOfLastFrame(inLoop loop: Int) -> Duration {
        loopDuration * min(max(loop, 0), Int(Int32.max)) + starts[order.count - 1]
    }

    /// Returns the time at which a step begins.
    package func start(ofStep step: Int) -> Duration {
        let (loop, index) = max(step, 0).quotientAndRemainder(dividingBy: order.count)
        return loopDuration * min(loop, Int(Int32.max)) + starts[index]
    }

    /// The number of steps of a loop.
    var stepsPerLoop: Int { order.count }

    /// Returns the frame of a step.
    package func frame(ofStep step: Int) -> Int {
        if loopCount > 0, step >= loopCount * order.count { return lastFrame }
        return order[max(step, 0) % order.count]
    }

    /// Returns the position after a playback time at rate 1, and its frame followed by the next ones, at most `count`.
    func schedule(at elapsed: Duration, ahead count: Int) -> (due: Position, frames: [Int]) {
        let due = position(at: elapsed)
        return (due, [due.frame] + frames(after: due.step, count: count))
    }

    /// Returns the frames that follow a step, at most `count`.
    package func frames(after step: Int, count: Int) -> [Int] {
        let steps = loopCount * order.count
        return (0..<count).compactMap { ahead in
            let next = step + 1 + ahead
            return loopCount > 0 && next > steps ? nil : frame(ofStep: next)
        }
    }

    private func index(at time: Duration) -> Int {
        var (low, high) = (0, order.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if starts[middle] <= time { low = middle } else { high = middle - 1 }
        }
        return low
    }
}
