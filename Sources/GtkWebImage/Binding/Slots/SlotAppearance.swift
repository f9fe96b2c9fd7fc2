import WebImageCore

/// What a widget does around its pictures, whichever they are.
struct SlotAppearance {
    var indicator: ImageIndicator?
    var transition: ImageTransition?
    var errorPlaceholder: Placeholder?
    var isRetriedOnClick = false
    var playback = ImagePlayback()
}
