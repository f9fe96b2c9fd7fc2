internal import CWebImageGtk4
import FoundationEssentials
public import WebImageCore

// The state of the image, and the settings that apply to every load.
extension ImageBindable {
    /// Cancels the load, if it has not ended. Its completion receives `ImageError.Code.cancelled`.
    public func cancelImageLoad() {
        imageBinding.cancel()
    }

    /// Cancels the load and clears the widget. The completion of a running load receives `ImageError.Code.cancelled`.
    /// - Parameter placeholder: The stand-in that the widget shows from now on. Default: nothing.
    public func clearImage(placeholder: ImagePlaceholder? = nil) {
        let binding = imageBinding
        let slot = placeholder == nil ? binding.existingSlot : binding.preparedSlot()
        slot?.clear(placeholder, binding.manager ?? .shared)
    }

    /// The image on display, complete or partial; `nil` while the widget shows a placeholder or nothing.
    public var currentImage: WebImage? { imageBinding.existingSlot?.target.image }

    /// The progress of the load: one observable object for all loads of the widget.
    public var imageProgress: ImageProgress { imageBinding.slot.observedProgress() }

    /// The indicator that is drawn over the widget while an image loads. Default: none.
    public var imageIndicator: ImageIndicator? {
        get { imageBinding.existingSlot?.configuration.indicator }
        nonmutating set { imageBinding.slot.configuration.indicator = newValue }
    }

    /// The transition to an image that does not come from memory. Default: none.
    public var imageTransition: ImageTransition? {
        get { imageBinding.existingSlot?.configuration.transition }
        nonmutating set { imageBinding.slot.configuration.transition = newValue }
    }

    /// The placeholder that is shown if a load fails or there is no URL, unless the widget shows a preview: the
    /// image at `previewURL`, a ThumbHash or another size. An icon is drawn over a placeholder that is an image,
    /// such as a BlurHash. Default: none; the widget keeps its content.
    public var errorPlaceholder: ImagePlaceholder? {
        get { imageBinding.existingSlot?.configuration.errorPlaceholder }
        nonmutating set { imageBinding.slot.configuration.errorPlaceholder = newValue }
    }
}
