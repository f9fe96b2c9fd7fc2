import WebImageCore

/// The settings of a slot that outlive a single load.
struct SlotConfiguration {
    /// `nil` for the shared one.
    var manager: ImageManager?
    var indicator: ImageIndicator?
    var transition: ImageTransition?
    var errorPlaceholder: ImagePlaceholder?
    var retriesOnClick = false
    var playback = ImagePlayback()
}
