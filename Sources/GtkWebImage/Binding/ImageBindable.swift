public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

/// What shows one image: a widget of any GTK binding, one of its places (ImageBinding), or an ImagePaintable.
@MainActor
public protocol ImageBindable {
    /// Where the image goes. Widgets have one by default.
    var imageBinding: ImageBinding { get }
}

extension ImageBindable {
    /// Loads an image and shows it, decoded at the size of the widget.
    ///
    /// An image in the memory cache is shown before this call returns, and the completion called. Otherwise the load
    /// starts when the widget is mapped, ends the one before, and is cancelled when the widget leaves its window. The
    /// URL that is loaded or shown already is neither loaded again nor does it flicker; the completion is called all
    /// the same.
    /// - Parameters:
    ///   - url: Where the image is; nil shows the placeholder.
    ///   - placeholder: Shown until there is something better. Default: the widget is cleared, see
    ///     `ImageOptions.keepCurrentImage`.
    ///   - options: See ImageOptions.
    ///   - transformer: Changes the image before it is shown.
    ///   - manager: Loads it. Default: the shared one.
    ///   - progress: Bytes received so far, and in all where that is known.
    ///   - partial: Partial images, after they were shown, with ImageOptions.progressive.
    ///   - completion: Called exactly once, when the image is in place or has failed.
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
        return imageBinding.preparedSlot().set(request, completion)
    }

    /// Loads an image and shows it, for those who need not hear of it.
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
        imageBinding.preparedSlot().set(SlotRequest(url, placeholder, options, transformer, manager), nil)
    }

    /// Loads an image, shows it, and returns it. Cancelling the awaiting task cancels the load.
    ///
    /// A widget that is not mapped loads nothing yet: the call waits until it is, or until the widget is gone.
    /// - Throws: ImageError; ImageError.Code.cancelled when another URL was set or the widget is gone.
    @discardableResult
    public func setImage(
        with url: URL?,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared
    ) async throws(ImageError) -> ImageResponse {
        let request = SlotRequest(url, placeholder, options, transformer, manager)
        return try await awaitLoad { imageBinding.preparedSlot().set(request, $0) }
    }
}

extension ImageBindable {
    /// Loads what a request asks for and shows it: other URLs to fall back on, previews, headers, a cache key, a loader
    /// of its own. Its ImageRequest.decodeSize is that of the widget unless it says another than the original size,
    /// and at normal priority it is as urgent as what is on screen.
    ///
    /// All else is as with the form that takes a URL.
    @discardableResult
    public func setImage(
        with request: ImageRequest,
        placeholder: Placeholder? = nil,
        manager: ImageManager = .shared,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageLoad {
        var request = SlotRequest(request, placeholder, manager)
        request.progress = progress
        request.partial = partial
        return imageBinding.preparedSlot().set(request, completion)
    }

    /// Loads what a request asks for and shows it, for those who need not hear of it.
    @discardableResult
    public func setImage(
        with request: ImageRequest,
        placeholder: Placeholder? = nil,
        manager: ImageManager = .shared
    ) -> ImageLoad {
        imageBinding.preparedSlot().set(SlotRequest(request, placeholder, manager), nil)
    }

    /// Loads what a request asks for, shows it, and returns it. Cancelling the awaiting task cancels the load.
    /// - Throws: ImageError; ImageError.Code.cancelled when another URL was set or the widget is gone.
    @discardableResult
    public func setImage(
        with request: ImageRequest,
        placeholder: Placeholder? = nil,
        manager: ImageManager = .shared
    ) async throws(ImageError) -> ImageResponse {
        let request = SlotRequest(request, placeholder, manager)
        return try await awaitLoad { imageBinding.preparedSlot().set(request, $0) }
    }
}
