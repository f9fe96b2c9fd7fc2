import FoundationEssentials
public import WebImageCore
import WebImageLinux

/// A place that shows images under an operation key: the image of a widget, the background of a button in one state, an
/// icon of an entry, or a paintable.
///
/// It keeps nothing alive, so create it where you use it. Main thread only.
@preconcurrency @MainActor
public struct ImageBinding: ImageBindable {
    /// A GtkWidget, or a paintable of the library.
    private let object: UnsafeMutableRawPointer
    /// The key of the place. Loads of one object under different keys do not affect each other.
    public let key: OperationKey
    private let place: ImagePlace

    init(_ object: UnsafeMutableRawPointer, _ key: OperationKey, in place: ImagePlace) {
        self.object = object
        self.key = key
        self.place = place
    }

    /// This binding itself, so that it can be used like a widget.
    public var imageBinding: ImageBinding { self }

    /// Cancels the load, also one that has left its window with the widget.
    func cancel() { WidgetSlots.existing(of: object)?.cancel(key) }

    var existingSlot: ImageSlot? { WidgetSlots.existing(of: object)?.existingSlot(for: key) }

    var slot: ImageSlot {
        WidgetSlots.of(object).slot(for: key, in: place)
    }

    /// The slot, ready for another image: its target is in place, and a load that the app has tied to the key is
    /// cancelled.
    func preparedSlot() -> ImageSlot {
        let slots = WidgetSlots.of(object)
        slots.cancelAppTask(for: key)
        let slot = slots.slot(for: key, in: place)
        slot.target.prepare()
        return slot
    }

    /// Loads an image under the key. All forms of setImage call this.
    func set(_ request: BindingRequest, _ completion: ImageSlot.Completion?) -> ImageTask {
        let slot = preparedSlot()
        guard let manager = slot.configuration.manager else { return slot.set(request, completion) }
        var request = request
        request.manager = manager
        return slot.set(request, completion)
    }
}

// The load, and the settings that few widgets need.
extension ImageBinding {
    /// The request that was set last, whether or not its load succeeded; `nil` after the image was cleared.
    public var request: ImageRequest? { existingSlot?.current?.image }

    /// The last load, which may have ended; `nil` after the image was cleared.
    public var task: ImageTask? { WidgetSlots.existing(of: object)?.task(for: key) }

    /// The manager that loads the images, from the next one on. Default: `ImageManager.shared`, as it is when an image is set.
    public var manager: ImageManager {
        get { existingSlot?.configuration.manager ?? .shared }
        nonmutating set { slot.configuration.manager = newValue }
    }

    /// The player of the image on display, to pause, to seek and to observe frames; `nil` unless the image is animated.
    /// Each image has its own player.
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

    /// The size in application pixels that a GtkPicture asks for, whatever its image, such as that of an avatar on a button. The GtkPicture
    /// of a button keeps it in all states; another one grows where its parent has more room, unless its alignment forbids that. It takes
    /// the place of a size request. A GtkImage gets the shorter side as its pixel-size. On backgrounds, which have no size, and on widgets
    /// that show images in other ways it has no effect, and that is logged. Default: `nil`, for the size of the image.
    public var fixedSize: (width: Int, height: Int)? {
        get { existingSlot?.target.fixedSize }
        nonmutating set { slot.target.fixedSize = newValue }
    }

    /// The place of the image that a GtkPicture shows while ``isHighlighted`` is set.
    public var highlighted: ImageBinding {
        ImageBinding(object, .highlightedImage, in: .widget(.image(.highlighted)))
    }

    /// Whether a GtkPicture shows its ``highlighted`` image, if it has one. Default: no.
    public var isHighlighted: Bool {
        get { WidgetSlots.existing(of: object)?.presenters?.isHighlighted ?? false }
        nonmutating set { WidgetSlots.of(object).presenters?.isHighlighted = newValue }
    }

    /// Loads several images and plays them one after the other, in the order of the list. Images that have arrived play
    /// already; those that fail are left out. All are drawn in the shape of the first one, with as many pixels. The animation
    /// replaces the image of the widget, and the next image replaces it.
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
        var request = BindingRequest(sources.first, placeholder: placeholder, options: options)
        if !sources.isEmpty {
            let requests = sources.map(\.imageRequest)
            request.sequence = ImageSequence(requests: requests, frameDuration: frameDuration, loopCount: loopCount)
        }
        return set(request, completion)
    }
}

/// The destination of the images of a binding.
enum ImagePlace {
    case widget(WidgetPlace)
    /// The icon of all windows.
    case application
    /// A paintable that is bound without a widget.
    case paintable(PaintableContent)
    /// A paintable that ``GtkWidgetConvertible/imageBinding(for:setPaintable:)`` has handed to the app, so that the slot exists.
    case handedOut
}
