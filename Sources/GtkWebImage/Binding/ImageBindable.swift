public import WebImageCore
public import WebImageLinux

/// Anything that shows one image: a widget of any GTK binding, a place within one (``ImageBinding``), or an
/// ``ImagePaintable``.
@preconcurrency @MainActor
public protocol ImageBindable {
    /// The place that the image goes to. Widgets have one by default.
    var imageBinding: ImageBinding { get }
}

extension ImageBindable {
    /// Loads an image and shows it, decoded at the size of the widget.
    ///
    /// A memory hit is shown, and its completion called, before this call returns. Otherwise the load starts when the
    /// widget is mapped; it ends the load before, and is cancelled when the widget leaves its window. Setting what the
    /// widget already loads or shows neither restarts the load nor flickers; the completion is called all the same, and
    /// the image replaces what the app has put into the widget since.
    ///
    /// A bound widget decodes at its own size unless `ImageRequest.decodeSize` names one, and loads at high priority
    /// unless `ImageRequest.priority` says otherwise.
    ///
    ///     let response = try await picture.setImage(with: url).response
    ///
    /// The load that is awaited waits until the widget is mapped; it fails with `ImageError.Code.cancelled` when another
    /// image is set or the widget is destroyed.
    /// - Parameters:
    ///   - source: The URL or the ImageRequest to load. `nil` shows the error placeholder, the placeholder or nothing, and fails with
    ///     `ImageError.Code.invalidURL`.
    ///   - placeholder: The stand-in until there is an image. Default: none; `BindingOptions.whileLoading` says what
    ///     the widget shows then.
    ///   - options: What concerns the widget rather than the image.
    ///   - manager: The manager that loads. Default: the shared one.
    ///   - progress: Receives the bytes so far, and the total where it is known. For a load that is already under way it
    ///     begins with what has arrived. Not called after the completion; `imageProgress` follows every load.
    ///   - partial: Receives partial images after they were shown, until the completion. For a load that is already under
    ///     way it begins with the one on display.
    ///   - completion: Called exactly once, after the image is in place or has failed.
    /// - Returns: The load, to cancel or to await it. It ends when the image is in place.
    @discardableResult
    public func setImage(
        with source: (some ImageRequestConvertible)?,
        placeholder: Placeholder? = nil,
        options: BindingOptions = BindingOptions(),
        manager: ImageManager = .shared,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageTask {
        var request = BindingRequest(source, placeholder: placeholder, options: options, manager: manager)
        (request.progress, request.partial) = (progress, partial)
        return imageBinding.set(request, completion)
    }

    /// Loads an image and shows it, without a completion. All else is as with the form that has one.
    @discardableResult
    public func setImage(
        with source: (some ImageRequestConvertible)?,
        placeholder: Placeholder? = nil,
        options: BindingOptions = BindingOptions(),
        manager: ImageManager = .shared,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil
    ) -> ImageTask {
        var request = BindingRequest(source, placeholder: placeholder, options: options, manager: manager)
        (request.progress, request.partial) = (progress, partial)
        return imageBinding.set(request, nil)
    }

    /// Shows an image that the app has, within this call. It takes the place of the load, which is cancelled, and of a
    /// placeholder. The widget has no URL then, so that the next one is loaded; an animated image plays.
    ///
    ///     picture.setImage(image)
    ///
    /// - Parameters:
    ///   - image: The image, which is shown with the pixels that it has.
    ///   - transition: The transition to the image. Default: none, as for a memory hit.
    ///   - focus: The point of the image that stays in view where the widget crops it; see ``BindingOptions/focus``. Default: the
    ///     middle.
    public func setImage(_ image: WebImage, transition: ImageTransition? = nil, focus: ImagePoint = .center) {
        MainThreadMeter.measure { imageBinding.preparedSlot().show(image, transition, focus: focus) }
    }
}
