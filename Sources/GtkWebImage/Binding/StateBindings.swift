public import WebImageCore
public import WebImageLinux

// The named places of widgets, in short forms. Their bindings have all of ImageBindable, such as progress handlers.

extension PictureBindable {
    /// Loads the image that is shown while ``isImageHighlighted`` is set. All else is as with setImage.
    @discardableResult
    public func setHighlightedImage(
        with source: (some ImageRequestConvertible)?,
        placeholder: Placeholder? = nil,
        loading: ImageRequest.Loading? = nil,
        retry: ImageRequest.Retry? = nil,
        options: BindingOptions = BindingOptions(),
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageLoad {
        let request = BindingRequest(
            source?.imageRequest,
            placeholder: placeholder,
            loading: loading,
            retry: retry,
            options: options,
            transformer: transformer,
            manager: manager
        )
        return highlightedImageBinding.preparedSlot().set(request, completion)
    }

    /// Loads several images and plays them one after the other, in the order of the list, in whatever order they
    /// arrive. What has arrived plays already; those that fail are left out. All are drawn in the shape of the first
    /// one.
    ///
    /// It takes the place of the widget's image: what is set next ends it.
    /// - Parameters:
    ///   - sources: The URLs or requests of the images. An empty list shows the placeholder.
    ///   - frameDuration: How long each is shown. Default: 0.2 s.
    ///   - loopCount: How often all of them are played. Default: 0, for ever.
    ///   - placeholder: Shown until the first one is there.
    ///   - options: What concerns the widget rather than the image.
    ///   - transformer: Changes each image before it is shown.
    ///   - manager: Loads them. Default: the shared one.
    ///   - completion: Called exactly once, when all are through: with the animation, or with the first error when none
    ///     could be had.
    /// - Returns: The loads as one, to cancel them.
    @discardableResult
    public func setAnimationImages(
        with sources: [some ImageRequestConvertible],
        frameDuration: Duration = .milliseconds(200),
        loopCount: Int = 0,
        placeholder: Placeholder? = nil,
        loading: ImageRequest.Loading? = nil,
        retry: ImageRequest.Retry? = nil,
        options: BindingOptions = BindingOptions(),
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageLoad {
        var request = BindingRequest(
            sources.first?.imageRequest,
            placeholder: placeholder,
            loading: loading,
            retry: retry,
            options: options,
            transformer: transformer,
            manager: manager
        )
        if !sources.isEmpty {
            request.sequence = ImageSequence(
                urls: sources.map(\.imageRequest.url),
                frameDuration: frameDuration,
                loopCount: loopCount
            )
        }
        return imageBinding.preparedSlot().set(request, completion)
    }
}

extension ButtonBindable {
    /// Loads the image of a state. A state without one shows that of the normal state. All else is as with setImage.
    @discardableResult
    public func setImage(
        with source: (some ImageRequestConvertible)?,
        for state: ImageState,
        placeholder: Placeholder? = nil,
        loading: ImageRequest.Loading? = nil,
        retry: ImageRequest.Retry? = nil,
        options: BindingOptions = BindingOptions(),
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageLoad {
        let request = BindingRequest(
            source?.imageRequest,
            placeholder: placeholder,
            loading: loading,
            retry: retry,
            options: options,
            transformer: transformer,
            manager: manager
        )
        return imageBinding(for: state).preparedSlot().set(request, completion)
    }

    /// Loads the image behind the child of the button in a state. All else is as with setImage.
    @discardableResult
    public func setBackgroundImage(
        with source: (some ImageRequestConvertible)?,
        for state: ImageState = .normal,
        placeholder: Placeholder? = nil,
        loading: ImageRequest.Loading? = nil,
        retry: ImageRequest.Retry? = nil,
        options: BindingOptions = BindingOptions(),
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageLoad {
        let request = BindingRequest(
            source?.imageRequest,
            placeholder: placeholder,
            loading: loading,
            retry: retry,
            options: options,
            transformer: transformer,
            manager: manager
        )
        return backgroundImageBinding(for: state).preparedSlot().set(request, completion)
    }
}

extension EntryBindable {
    /// Loads an icon of the entry. All else is as with setImage.
    @discardableResult
    public func setIcon(
        with source: (some ImageRequestConvertible)?,
        at position: EntryIconPosition,
        placeholder: Placeholder? = nil,
        loading: ImageRequest.Loading? = nil,
        retry: ImageRequest.Retry? = nil,
        options: BindingOptions = BindingOptions(),
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageLoad {
        let request = BindingRequest(
            source?.imageRequest,
            placeholder: placeholder,
            loading: loading,
            retry: retry,
            options: options,
            transformer: transformer,
            manager: manager
        )
        return iconBinding(at: position).preparedSlot().set(request, completion)
    }
}
