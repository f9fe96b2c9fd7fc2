import WebImageCore

/// The settings of a slot that outlive a single load.
struct SlotConfiguration {
    var indicator: ImageIndicator?
    var transition: ImageTransition?
    var errorPlaceholder: ImagePlaceholder?
    var retriesOnClick = false
    var playback = ImagePlayback()
}
