internal import CWebImageGtk4
import WebImageLinux

/// Measures the frames of a window in the last ten seconds. It requests no frames itself.
@MainActor
final class FrameMeter {
    struct Frame {
        /// The time on the monotonic clock, in seconds.
        let time: Double
        /// The seconds since the previous frame; `nil` after a pause without changes.
        let interval: Double?
    }

    /// The seconds that the meter covers.
    static let period = 10.0
    /// Animations draw more often than this; a longer interval is a pause.
    private static let longestInterval = 0.2

    /// The frames, the oldest first.
    private(set) var frames: [Frame] = []
    /// Called after each frame.
    var onFrame: () -> Void = {}

    private let clock: SignalConnections

    init(_ clock: OpaquePointer) {
        self.clock = SignalConnections(GObjectBox(retaining: UnsafeMutableRawPointer(clock)))
        self.clock.connect("after-paint") { [weak self] in self?.endFrame() }
    }

    func stop() { clock.disconnect() }

    /// The number of frames in the last second, and the longest interval of the period in seconds.
    var summary: (count: Int, longest: Double) {
        let now = Double(g_get_monotonic_time()) / 1_000_000
        return (frames.count { now - $0.time <= 1 }, frames.compactMap(\.interval).max() ?? 0)
    }

    private func endFrame() {
        let time = Double(g_get_monotonic_time()) / 1_000_000
        let interval = frames.last.map { time - $0.time }.flatMap { $0 < Self.longestInterval ? $0 : nil }
        frames.append(Frame(time: time, interval: interval))
        let old = frames.prefix { time - $0.time > Self.period }.count
        // At a few hundred frames a second, removing old frames each time would be slow.
        if old > 600 || frames.count > 4000 { frames.removeFirst(max(old, frames.count - 4000)) }
        onFrame()
    }
}
