internal import CWebImageGtk4
internal import CWebImageGtkShims
public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

/// A `GtkButton` of any binding. A class joins by naming its pointer, as with ``PictureBindable``.
@MainActor
public protocol ButtonBindable: NativeWidget {}

extension ButtonBindable {
    /// Loads a picture and shows it as the child of the button, instead of a label or another child.
    ///
    /// All else is as with
    /// ``PictureBindable/setImage(with:placeholder:options:transformer:manager:progress:partial:completion:)``. An app
    /// that gives the button another child later keeps that one: the picture is then loaded, but not shown.
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
        return preparedSlot().set(request, completion)
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
        return preparedSlot().set(request, nil)
    }

    /// Loads a picture, shows it, and returns it. Cancelling the awaiting task cancels the load.
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

    /// The slot, with the GtkPicture that shows its pictures in place.
    private func preparedSlot() -> ImageSlot {
        let pointer = nativeWidgetPointer
        precondition(gwi_is_button(pointer) != 0, "nativeWidgetPointer of \(Self.self) is not a GtkButton")
        let slot = WidgetSlots.of(pointer).slot(for: .image) {
            ButtonTarget(button: WidgetReference(pointer))
        }
        (slot.target as? ButtonTarget)?.attach()
        return slot
    }
}
