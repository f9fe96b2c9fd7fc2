import Foundation

/// How a list moves that is flung again and again: downwards half of the time, then back up.
struct FlingMotion {
    /// The speed with which a fling of a quick finger starts, in application pixels a second.
    private static let speed = 6000.0
    /// How fast a fling loses its speed, a second: as in a GtkScrolledWindow.
    private static let friction = 4.0
    /// The seconds from one fling to the next.
    private static let interval = 0.6

    /// The seconds of all flings.
    let duration: Double

    /// Where the list is, in application pixels from its top. At an end it turns.
    /// - Parameters:
    ///   - time: The seconds since the start.
    ///   - end: The farthest that the list can be scrolled.
    func offset(at time: Double, end: Double) -> Double {
        guard end > 0 else { return 0 }
        let way = min(way(in: time), 2 * way(in: duration / 2) - way(in: time))
        let rest = max(0, way).truncatingRemainder(dividingBy: 2 * end)
        return min(rest, 2 * end - rest)
    }

    /// How far the flings go in so many seconds when none of them turns.
    func way(in time: Double) -> Double {
        let count = (time / Self.interval).rounded(.down)
        return count * reach(Self.interval) + reach(time - count * Self.interval)
    }

    /// How far one fling has come after so many seconds.
    private func reach(_ time: Double) -> Double { Self.speed / Self.friction * (1 - exp(-Self.friction * time)) }
}
