/// Which frame of an animation is shown at which time: arithmetic, without a clock.
package struct PlaybackTimeline: Sendable {
    /// Where an animation is.
    package struct Position: Sendable, Equatable {
        /// The frame, as the file numbers them.
        package var frame: Int
        /// Rounds that are through.
        package var loop: Int
        /// Frames that were due so far, in all rounds: tells one showing of a frame from the next.
        package var step: Int
        /// When the next frame is due; nil after the last one.
        package var end: Duration?
    }

    /// The frames of one round, in order.
    private let order: [Int]
    /// When each of them begins, counted from the start of the round; after the last one, how long a round takes.
    private let starts: [Duration]
    /// Rounds; 0 is for ever.
    package let loopCount: Int
    /// What is shown when all rounds are through.
    private let lastFrame: Int

    /// - Parameters:
    ///   - durations: Of the frames of the file, at least one.
    ///   - loopCount: Rounds; 0 is for ever.
    package init(durations: [Duration], mode: PlaybackMode, loopCount: Int) {
        let count = durations.count
        let up = Array(0..<count)
        // The ends of a bounce are shown once, not twice.
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
        self.loopCount = loopCount
        lastFrame =
            switch mode {
            case .normal, .reversedBounce: count - 1
            case .reverse, .bounce: 0
            }
    }

    /// How long one round takes.
    package var roundDuration: Duration { starts[starts.count - 1] }

    /// How long all rounds take; nil for ever.
    package var totalDuration: Duration? { loopCount > 0 ? roundDuration * loopCount : nil }

    /// Where it is after so much time, at its own speed.
    package func position(at elapsed: Duration) -> Position {
        let elapsed = max(elapsed, .zero)
        let loop = Int(elapsed / roundDuration)
        if loopCount > 0, loop >= loopCount {
            return Position(frame: lastFrame, loop: loopCount, step: loopCount * order.count, end: nil)
        }
        let within = elapsed - roundDuration * loop
        let index = index(at: within)
        return Position(
            frame: order[index],
            loop: loop,
            step: loop * order.count + index,
            end: roundDuration * loop + starts[index + 1]
        )
    }

    /// When a frame is shown for the first time in a round.
    package func start(ofFrame frame: Int, loop: Int) -> Duration? {
        guard let index = order.firstIndex(of: frame) else { return nil }
        return roundDuration * loop + starts[index]
    }

    /// The frame of a step.
    package func frame(ofStep step: Int) -> Int {
        if loopCount > 0, step >= loopCount * order.count { return lastFrame }
        return order[max(step, 0) % order.count]
    }

    /// The frames that come after a step, as many as are asked for.
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
