internal import CWebImageGtkShims
public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

/// A `GtkPicture` of any binding. A class joins by naming its pointer:
///
///     extension MyPicture: PictureBindable {
///         var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
///     }
@MainActor
public protocol PictureBindable: NativeWidget {}

extension PictureBindable {
    /// Loads a picture and shows it, decoded at the size of the widget.
    ///
    /// A picture in the memory cache is shown before this call returns, and the completion called. Otherwise the load
    /// starts when the widget is mapped, ends the one before, and is cancelled when the widget leaves its window. The
    /// URL that is loaded or shown already is neither loaded again nor does it flicker; the completion is called all
    /// the same.
    /// - Parameters:
    ///   - url: Where the picture is; `nil` shows the placeholder.
    ///   - placeholder: Shown until there is something better. Default: the widget is cleared, see
    ///     ``ImageOptions/keepCurrentImage``.
    ///   - options: See ``ImageOptions``.
    ///   - transformer: Changes the picture before it is shown.
    ///   - manager: Loads it. Default: the shared one.
    ///   - progress: Bytes received so far, and in all where that is known.
    ///   - partial: Partial pictures, after they were shown, with ``ImageOptions/progressive``.
    ///   - completion: Called exactly once, when the picture is in place or has failed.
    /// - Returns: The load, to cancel it.
    @discardableResult
    public func setImage(
        with url: URL?,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: (any ImageTransformer)? = nil,
        manager: ImageManager = .shared,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageLoad {
        let request = SlotRequest(
            url: url,
            placeholder: placeholder,
            options: options,
            transformer: transformer,
            manager: manager,
            progress: progress,
            partial: partial
        )
        return pictureSlot.set(request, completion)
    }

    /// Loads a picture and shows it, for those who need not hear of it.
    ///
    /// All else is as with the form that has a completion.
    @discardableResult
    public func setImage(
        with url: URL?,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: (any ImageTransformer)? = nil,
        manager: ImageManager = .shared
    ) -> ImageLoad {
        let request = SlotRequest(
            url: url,
            placeholder: placeholder,
            options: options,
            transformer: transformer,
            manager: manager
        )
        return pictureSlot.set(request, nil)
    }

    /// Loads a picture, shows it, and returns it. Cancelling the awaiting task cancels the load.
    ///
    /// A widget that is not mapped loads nothing yet: the call waits until it is, or until the widget is gone.
    /// - Throws: ``ImageError``; ``ImageError/Code/cancelled`` when another URL was set or the widget is gone.
    @discardableResult
    public func setImage(
        with url: URL?,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: (any ImageTransformer)? = nil,
        manager: ImageManager = .shared
    ) async throws(ImageError) -> ImageResponse {
        try await awaitLoad { completion in
            setImage(
                with: url,
                placeholder: placeholder,
                options: options,
                transformer: transformer,
                manager: manager,
                completion: completion
            )
        }
    }

    /// Ends the load of ``setImage(with:placeholder:options:transformer:manager:progress:partial:completion:)``.
    public func cancelCurrentImageLoad() {
        cancelImageLoad(for: .image)
    }

    /// The URL that was set last, whatever became of it.
    public var currentImageURL: URL? { imageURL(for: .image) }

    /// The picture that is shown, whole or partial; `nil` while a placeholder or nothing is.
    public var currentImage: WebImage? {
        WidgetSlots.existing(of: nativeWidgetPointer)?.existingSlot(for: .image)?.shownImage
    }

    private var pictureSlot: ImageSlot {
        let pointer = nativeWidgetPointer
        precondition(gwi_is_picture(pointer) != 0, "nativeWidgetPointer of \(Self.self) is not a GtkPicture")
        let slots = WidgetSlots.of(pointer)
        return slots.slot(for: .image) { PaintableTarget(picture: slots.widget) }
    }
}
