public import WebImageCore

/// Anything that shows one image: a widget of any GTK binding, a place in a widget (``ImageBinding``), or an
/// ``ImagePaintable``.
@preconcurrency @MainActor
public protocol ImageBindable {
    /// The binding of the image. Widgets have one by default.
    var imageBinding: ImageBinding { get }
}

extension ImageBindable {
    /// Loads an image and shows it, decoded at the size of the widget.
    ///
    /// A memory hit is shown, and its completion called, before this call returns. Otherwise the load starts when the
    /// widget is mapped. The previous load is cancelled, and this load is cancelled when the widget leaves its window.
    /// Setting what the widget already loads or shows neither restarts the load nor flickers. The completion is called
    /// anyway, and the image replaces other content that you have put into the widget since.
    ///
    /// A bound widget decodes at its own size unless `ImageRequest.decodeSize` is set, and loads at high priority
    /// unless `ImageRequest.priority` is set.
    ///
    ///     let response = try await picture.setImage(with: url).response
    ///
    /// Awaiting the load waits until the widget is mapped. It fails with `ImageError.Code.cancelled` when another image
    /// is set or the widget is destroyed.
    /// - Parameters:
    ///   - source: The URL or the ImageRequest to load. `nil` shows the error placeholder, the placeholder or nothing,
    ///     and fails with `ImageError.Code.invalidURL`.
    ///   - placeholder: What the widget shows until it has an image. Default: none; the widget then shows what
    ///     `BindingOptions.whileLoading` says.
    ///   - options: How the widget treats the load.
    ///   - progress: Receives the number of bytes so far, and the length of the body if it is known. For a load that is
    ///     already running, it starts with the current progress. It is not called after the completion; `imageProgress`
    ///     follows every load.
    ///   - partial: Receives partial images after they were shown, until the completion. For a load that is already
    ///     running, it starts with the one on display.
    ///   - completion: Called exactly once, after the image is in place or the load has failed.
    /// - Returns: The load, to cancel or to await it. It ends when the image is in place.
    @discardableResult
    public func setImage(
        with source: (some ImageRequestConvertible)?,
        placeholder: ImagePlaceholder? = nil,
        options: BindingOptions = BindingOptions(),
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageTask {
        var request = BindingRequest(image: source?.imageRequest, placeholder: placeholder, options: options)
        (request.progress, request.partial) = (progress, partial)
        return imageBinding.set(request, completion)
    }

    /// Loads an image and shows it, decoded at the size of the widget. Otherwise like the form with a completion.
    @discardableResult
    public func setImage(
        with source: (some ImageRequestConvertible)?,
        placeholder: ImagePlaceholder? = nil,
        options: BindingOptions = BindingOptions(),
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil
    ) -> ImageTask {
        var request = BindingRequest(image: source?.imageRequest, placeholder: placeholder, options: options)
        (request.progress, request.partial) = (progress, partial)
        return imageBinding.set(request, nil)
    }

    /// Shows an image that you already have, within this call. It replaces a placeholder, and the load is cancelled.
    /// The widget then has no URL, so the next one is loaded. An animated image plays.
    ///
    ///     picture.setImage(image)
    ///
    /// - Parameters:
    ///   - image: The image, which is shown with its existing pixels.
    ///   - transition: The transition to the image. Default: none, as for a memory hit.
    ///   - focus: The point of the image that stays in view if the widget crops it; see ``BindingOptions/focus``.
    ///     Default: the middle.
    public func setImage(_ image: WebImage, transition: ImageTransition? = nil, focus: ImagePoint = .center) {
        imageBinding.preparedSlot().show(image, transition, focus: focus)
    }
}
