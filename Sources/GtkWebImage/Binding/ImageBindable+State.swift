internal import CWebImageGtk4
public import FoundationEssentials
public import WebImageCore

// The state of the image, and the settings that apply to every load.
extension ImageBindable {
    /// Cancels the load, if it has not ended. Its completion receives `ImageError.Code.cancelled`.
    public func cancelCurrentImageLoad() {
        imageBinding.cancel()
    }

    /// Cancels the load and clears the widget. The completion of a running load receives `ImageError.Code.cancelled`.
    /// - Parameters:
    ///   - placeholder: What the widget shows from now on. Default: nothing.
    ///   - manager: The manager that loads a placeholder given by a URL. Default: the shared one.
    public func clearImage(placeholder: Placeholder? = nil, manager: ImageManager = .shared) {
        if placeholder != nil {
            imageBinding.preparedSlot().clear(placeholder, manager)
        } else {
            imageBinding.existingSlot?.clear(nil, manager)
        }
    }

    /// The URL that was set last, whether or not its load succeeded; `nil` after the image was cleared.
    public var currentImageURL: URL? { currentImageRequest?.url }

    /// The request that was set last, whether or not its load succeeded; `nil` after the image was cleared.
    public var currentImageRequest: ImageRequest? { imageBinding.existingSlot?.current?.image }

    /// The last load, which may have ended; `nil` after the image was cleared.
    public var currentImageTask: ImageTask? { imageBinding.task }

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

    /// The size in application pixels that a GtkPicture requests, regardless of its image, for example for an avatar on a
    /// button. It replaces a size request. The GtkPicture of a button keeps it in all states; any other grows if its parent
    /// has more room, unless its alignment forbids that. A GtkImage uses the shorter side as its pixel-size. Backgrounds
    /// and widgets that show images in other ways ignore it, which is logged. Default: `nil`, for the size of the image.
    public var fixedImageSize: (width: Int, height: Int)? {
        get { imageBinding.existingSlot?.target.fixedSize }
        nonmutating set { imageBinding.slot.target.fixedSize = newValue }
    }

    /// How animated images play. Default: automatically, as their files say.
    public var imagePlayback: ImagePlayback {
        get { imageBinding.existingSlot?.configuration.playback ?? ImagePlayback() }
        nonmutating set { imageBinding.slot.configuration.playback = newValue }
    }

    /// The player of the image on display, to pause, seek and observe frames; `nil` if the image is not animated. Each
    /// image has its own player.
    public var animationPlayer: AnimationPlayer? { imageBinding.existingSlot?.target.content?.player }

    /// The placeholder that is shown if a load fails or there is no URL, unless the widget shows a preview of the
    /// image: that of `previewURL`, a ThumbHash or another size. An icon is drawn over a placeholder that is an image,
    /// such as a BlurHash. Default: none; the widget keeps its content.
    public var errorPlaceholder: Placeholder? {
        get { imageBinding.existingSlot?.configuration.errorPlaceholder }
        nonmutating set { imageBinding.slot.configuration.errorPlaceholder = newValue }
    }

    /// Whether a click on the widget retries a failed load. Default: no.
    public var retriesImageOnClick: Bool {
        get { imageBinding.existingSlot?.configuration.retriesOnClick ?? false }
        nonmutating set {
            imageBinding.slot.configuration.retriesOnClick = newValue
            if newValue { imageBinding.listenToClicks() }
        }
    }
}
