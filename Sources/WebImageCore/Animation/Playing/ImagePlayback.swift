/// How a widget plays animated pictures.
public struct ImagePlayback: Sendable, Hashable {
    /// Whether they play by themselves. Default: yes.
    public var isAutomatic = true
    /// In which order frames are shown. Default: from the first to the last.
    public var mode = PlaybackMode.normal
    /// How fast they play: 2 is twice as fast; 0 stands still. Default: 1.
    public var rate = 1.0
    /// How often they are played; 0 is for ever. Default: as the file says.
    public var loopCount: Int?
    /// Whether all widgets that show one picture show the same frame at the same time, and share its frames. What the
    /// first of them says about the rest counts for all. Default: no.
    public var isShared = false
    /// Whether they play although the user wants nothing to move (`gtk-enable-animations`). Default: no.
    public var ignoresReducedMotion = false
    /// Whether they stand still while the machine saves power. Default: yes.
    public var restsToSavePower = true
    /// Bytes of decoded frames that one animation may keep besides the frame that is shown and the next one. Default:
    /// as much as all animations together have.
    public var maximumBufferByteCount: Int?

    /// Makes a playback of defaults.
    public init() {}
}
