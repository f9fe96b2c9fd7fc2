internal import CWebImageGtk4
public import FoundationEssentials
public import WebImageCore

// What is known of the image of a widget, and what goes with each.
extension ImageBindable {
    /// Ends the load of the image, if one is under way; its completion gets ImageError.Code.cancelled.
    public func cancelCurrentImageLoad() {
        imageBinding.existingSlot?.cancel()
    }

    /// Cancels the load and clears the widget. The completion of a load under way receives
    /// `ImageError.Code.cancelled`.
    /// - Parameter placeholder: What the widget shows from now on. Default: nothing.
    public func clearImage(placeholder: Placeholder? = nil) {
        imageBinding.existingSlot?.clear(placeholder: placeholder)
        if placeholder != nil, imageBinding.existingSlot == nil { imageBinding.slot.clear(placeholder: placeholder) }
    }

    /// The URL that was set last, whatever became of it.
    public var currentImageURL: URL? { imageBinding.existingSlot?.url }

    /// What was asked for last, whatever became of it.
    public var currentImageRequest: ImageRequest? { imageBinding.existingSlot?.request?.image }

    /// The load under way, or the last one.
    public var currentImageLoad: ImageLoad? { imageBinding.existingSlot?.load }

    /// The image that is shown, whole or partial; nil while a placeholder or nothing is.
    public var currentImage: WebImage? { imageBinding.existingSlot?.target.image }

    /// How far the load is: one object for all loads of the widget, which can be observed.
    public var imageProgress: ImageProgress { imageBinding.slot.observedProgress() }

    /// How often another image was asked for so far.
    public var imageGeneration: Int { imageBinding.existingSlot?.generation ?? 0 }

    /// Shown over the widget while an image is under way. Default: none.
    public var imageIndicator: ImageIndicator? {
        get { imageBinding.existingSlot?.appearance.indicator }
        nonmutating set { imageBinding.slot.appearance.indicator = newValue }
    }

    /// How an image that does not come from memory takes the place of what is shown. Default: at once.
    public var imageTransition: ImageTransition? {
        get { imageBinding.existingSlot?.appearance.transition }
        nonmutating set { imageBinding.slot.appearance.transition = newValue }
    }

    /// How animated images play. Default: by themselves, as their files say.
    public var imagePlayback: ImagePlayback {
        get { imageBinding.existingSlot?.appearance.playback ?? ImagePlayback() }
        nonmutating set { imageBinding.slot.appearance.playback = newValue }
    }

    /// Plays the image that is shown: to pause, to seek, to hear of frames. nil unless it is animated. Another
    /// image has another one.
    public var animationPlayer: AnimationPlayer? { imageBinding.existingSlot?.target.content?.player }

    /// Shown when an image cannot be had. Default: what was shown until then.
    public var errorPlaceholder: Placeholder? {
        get { imageBinding.existingSlot?.appearance.errorPlaceholder }
        nonmutating set { imageBinding.slot.appearance.errorPlaceholder = newValue }
    }

    /// Whether a click on the widget tries again what has failed. Default: no.
    public var retriesImageOnClick: Bool {
        get { imageBinding.existingSlot?.appearance.isRetriedOnClick ?? false }
        nonmutating set {
            imageBinding.slot.appearance.isRetriedOnClick = newValue
            if newValue { imageBinding.listenToClicks() }
        }
    }
}
