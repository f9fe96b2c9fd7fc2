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
