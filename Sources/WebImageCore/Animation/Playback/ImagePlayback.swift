/// The playback settings of animated images in a widget.
public struct ImagePlayback: Sendable, Hashable {
    /// Whether playback starts automatically. Default: true.
    public var isAutomatic = true
    /// The order of the frames. Default: from the first to the last.
    public var mode = ImagePlayback.Mode.normal
    /// The playback rate: 2 plays at double speed, 0 pauses. Default: 1.
    public var rate = 1.0
    /// The number of times to play the animation; 0 means endlessly. Default: the loop count of the file.
    public var loopCount: Int?
    /// Whether all widgets with the same image play it in step and share the decoded frames. They then use the other
    /// settings of the first widget. Default: false.
    public var isSynchronized = false
    /// Whether animations play even if the user asks for less motion: gtk-enable-animations is off, or
    /// gtk-interface-reduced-motion is set. Default: false.
    public var ignoresReducedMotion = false
    /// Whether playback pauses while the power saver is on. Default: true.
    public var pausesInPowerSaver = true
    /// The largest number of bytes of decoded frames that one animation may keep, besides the current and the next frame. A
    /// change takes effect with the next image. Default: limited only by the budget of all animations together.
    public var maximumBufferByteCount: Int?

    /// Creates the default settings: the animation starts automatically and plays as often and as fast as its file says.
    public init() {}
}

extension ImagePlayback {
    /// The order in which the frames of an animation are shown.
    public enum Mode: Sendable, CaseIterable {
        /// Plays from the first frame to the last.
        case normal
        /// Plays from the last frame to the first.
        case reverse
        /// Plays from the first frame to the last and back again.
        case bounce
        /// Plays from the last frame to the first and back again.
        case reversedBounce
    }
}

/// The clock of animations. Tests replace it with one that they advance.
@MainActor
package protocol PlaybackClock: AnyObject {
    /// The time of a monotonic clock in seconds.
    var now: Double { get }

    /// Calls a closure once at the given time.
    /// - Returns: A closure that cancels the call.
    func call(at time: Double, _ body: @escaping @MainActor () -> Void) -> @MainActor () -> Void
}
