internal import CWebImageGtk4
public import WebImageCore
import WebImageLinux

// The load, and the settings that few widgets need.
extension ImageBinding {
    /// The request that was set last, whether or not its load succeeded; `nil` after the image was cleared.
    public var request: ImageRequest? { existingSlot?.current?.request.image }

    /// The last load, which may have ended; `nil` after the image was cleared.
    public var task: ImageTask? { WidgetSlots.existing(of: object)?.task(for: key) }

    /// The manager that loads the next images of the widget under all keys, such as the images of all states of a button. Default: `nil`,
    /// for `ImageManager.shared` as it is when you set an image.
    public var manager: ImageManager? {
        get { WidgetSlots.existing(of: object)?.manager }
        nonmutating set { WidgetSlots.of(object).manager = newValue }
    }

    /// How the image on display was loaded; `nil` while another one loads, and for an image that the app has set itself.
    package var shownLoad: (request: ImageRequest, response: ImageResponse, manager: ImageManager)? {
        guard let load = existingSlot?.current, case .shown(let response) = load.state, let image = load.imageInStyle
        else { return nil }
        return (image, response, load.manager)
    }

    /// Replaces the placeholder of the load, which goes on. The placeholder is no URL.
    package func replacePlaceholder(_ placeholder: ImagePlaceholder?) { existingSlot?.replacePlaceholder(placeholder) }

    /// The player of the image on display, to pause, seek and observe frames; `nil` if the image is not animated. Each
    /// image has its own player.
    public var player: AnimationPlayer? { existingSlot?.target.content?.player }

    /// How animated images play. Default: automatically, as their files say.
    public var playback: ImagePlayback {
        get { existingSlot?.configuration.playback ?? ImagePlayback() }
        nonmutating set { slot.configuration.playback = newValue }
    }

    /// Whether a click on the widget retries a failed load. Default: no.
    public var retriesOnClick: Bool {
        get { existingSlot?.configuration.retriesOnClick ?? false }
        nonmutating set {
            slot.configuration.retriesOnClick = newValue
            if newValue { WidgetSlots.of(object).listenToClicks() }
        }
    }

    /// Sets the size in application pixels that a GtkPicture requests, regardless of its image, for example for an avatar on a
    /// button. Pass -1 for one or both to use the size of the image, which is the default.
    ///
    /// It replaces a size request. The GtkPicture of a button keeps it in all states; any other grows if its parent has more room,
    /// unless its alignment forbids that. A GtkImage uses the shorter side as its pixel-size. Backgrounds and widgets that show images
    /// in other ways ignore it, which is logged.
    public func setFixedSize(width: Int, height: Int) {
        slot.target.fixedSize = width < 0 || height < 0 ? nil : (width, height)
    }

    /// The place of the image that a GtkPicture shows while ``isHighlighted`` is set. Traps for other widgets.
    public var highlighted: ImageBinding {
        requirePicture()
        return ImageBinding(object, .highlightedImage, in: .image(.highlighted))
    }

    /// Whether a GtkPicture shows its ``highlighted`` image, if it has one. Default: no. Setting it traps for other widgets.
    public var isHighlighted: Bool {
        get { WidgetSlots.existing(of: object)?.isHighlighted ?? false }
        nonmutating set {
            requirePicture()
            WidgetSlots.of(object).isHighlighted = newValue
        }
    }

    private func requirePicture() {
        precondition(object.isInstance(of: gtk_picture_get_type()), "Only a GtkPicture has a highlighted image")
    }

    /// Loads several images and plays them one after another, in the order of the list. Images that have arrived
    /// already play; images that fail are left out. All are drawn with the shape and the number of pixels of the first
    /// one. The animation replaces the image of the widget, and the next image replaces the animation.
    /// - Parameters:
    ///   - sources: The URLs of the images, or requests for them. An empty list clears the widget, or shows the placeholder.
    ///   - frameDuration: The duration of each frame. Default: 0.2 s.
    ///   - loopCount: The number of times to play the images; 0 means endlessly. Default: 0.
    ///   - placeholder: The stand-in until the first image arrives.
    ///   - options: What concerns the widget rather than the images.
    ///   - completion: Called exactly once, after all loads have ended: with the animation, or with the first error if all
    ///     of them failed.
    /// - Returns: All loads as one.
    @discardableResult
    public func setAnimation(
        with sources: [some ImageRequestConvertible],
        frameDuration: Duration = .milliseconds(200),
        loopCount: Int = 0,
        placeholder: ImagePlaceholder? = nil,
        options: BindingOptions = BindingOptions(),
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        var request = BindingRequest(image: sources.first?.imageRequest, placeholder: placeholder, options: options)
        if !sources.isEmpty {
            let requests = sources.map(\.imageRequest)
            request.sequence = ImageSequence(requests: requests, frameDuration: frameDuration, loopCount: loopCount)
        }
        return set(request, completion)
    }
}
