internal import CWebImageGtkShims
public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

/// A widget of any GTK binding that shows one picture: a `GtkPicture` or a `GtkButton`.
///
/// The functions are here; the classes of a binding conform to ``PictureBindable`` or ``ButtonBindable``.
@MainActor
public protocol ImageBindable: NativeWidget {}

extension ImageBindable {
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
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageLoad {
        var request = SlotRequest(url, placeholder, options, transformer, manager)
        request.progress = progress
        request.partial = partial
        return preparedImageSlot().set(request, completion)
    }

    /// Loads a picture and shows it, for those who need not hear of it.
    ///
    /// All else is as with the form that has a completion.
    @discardableResult
    public func setImage(
        with url: URL?,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared
    ) -> ImageLoad {
        preparedImageSlot().set(SlotRequest(url, placeholder, options, transformer, manager), nil)
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
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared
    ) async throws(ImageError) -> ImageResponse {
        let request = SlotRequest(url, placeholder, options, transformer, manager)
        return try await awaitLoad { preparedImageSlot().set(request, $0) }
    }

    /// Ends the load of the picture, if one is under way; its completion gets ``ImageError/Code/cancelled``.
    public func cancelCurrentImageLoad() {
        cancelImageLoad(for: .image)
    }

    /// The URL that was set last, whatever became of it.
    public var currentImageURL: URL? { imageURL(for: .image) }

    /// The picture that is shown, whole or partial; `nil` while a placeholder or nothing is.
    public var currentImage: WebImage? {
        WidgetSlots.existing(of: nativeWidgetPointer)?.existingSlot(for: .image)?.target.image
    }

    /// The slot of the picture, its target ready to show something.
    private func preparedImageSlot() -> ImageSlot {
        let pointer = nativeWidgetPointer
        let slots = WidgetSlots.of(pointer)
        let slot = slots.slot(for: .image) {
            if gwi_is_button(pointer) != 0 { return ButtonTarget(button: slots.widget) }
            precondition(gwi_is_picture(pointer) != 0, "\(Self.self) is neither a GtkPicture nor a GtkButton")
            return PaintableTarget(picture: slots.widget)
        }
        slot.target.prepare()
        return slot
    }
}
