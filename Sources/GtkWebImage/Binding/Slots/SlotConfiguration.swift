import WebImageCore

/// What a widget does around its images, whichever they are.
struct SlotConfiguration {
    var indicator: ImageIndicator?
    var transition: ImageTransition?
    var errorPlaceholder: Placeholder?
    var isRetriedOnClick = false
    var playback = ImagePlayback()
}
