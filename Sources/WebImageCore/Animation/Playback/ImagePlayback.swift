/// How a widget plays animated images.
public struct ImagePlayback: Sendable, Hashable {
    /// Whether they play by themselves. Default: yes.
    public var isAutomatic = true
    /// In which order frames are shown. Default: from the first to the last.
    public var mode = PlaybackMode.normal
    /// How fast they play: 2 is twice as fast; 0 stands still. Default: 1.
    public var rate = 1.0
    /// How often they are played; 0 is for ever. Default: as the file says.
    public var loopCount: Int?
    /// Whether all widgets that show one image show the same frame at the same time, and share its frames. What the
    /// first of them says about the rest counts for all. Default: no.
    public var isShared = false
    /// Whether they play although the user wants nothing to move (gtk-enable-animations). Default: no.
    public var ignoresReducedMotion = false
    /// Whether they stand still while the machine saves power. Default: yes.
    public var pausesInPowerSaver = true
    /// Bytes of decoded frames that one animation may keep besides the frame that is shown and the next one. Default:
    /// as much as all animations together have.
    public var maximumBufferByteCount: Int?

    /// Makes a playback of defaults.
    public init() {}
}

/// In which order the frames of an animation are shown.
public enum PlaybackMode: String, Sendable, CaseIterable {
    /// From the first to the last.
    case normal
    /// From the last to the first.
    case reverse
    /// From the first to the last and back.
    case bounce
    /// From the last to the first and back.
    case reversedBounce
}

/// The time that animations go by, and calls at a time; tests turn it by hand.
@MainActor
package protocol PlaybackClock: AnyObject {
    /// In seconds, of some clock that never stands still.
    var now: Double { get }

    /// Calls body at a time, once, unless it is cancelled.
    /// - Returns: Cancels it when it is called.
    func call(at time: Double, _ body: @escaping @MainActor () -> Void) -> @MainActor () -> Void
}
