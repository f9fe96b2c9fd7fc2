public import FoundationEssentials
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
    ) -> ImageTask {
        let image = source?.request(loading, retry, transformer: transformer)
        let request = BindingRequest(image, placeholder: placeholder, options: options, manager: manager)
        return highlightedImageBinding.set(request, completion)
    }

    /// Loads several images and plays them one after the other, in the order of the list. Images that have arrived play
    /// already; those that fail are left out. All are drawn in the shape of the first one, with as many pixels. The animation
    /// replaces the image of the widget, and the next image replaces it.
    /// - Parameters:
    ///   - urls: The URLs of the images. An empty list clears the widget, or shows the placeholder.
    ///   - frameDuration: The duration of each frame. Default: 0.2 s.
    ///   - loopCount: The number of times to play the images; 0 means endlessly. Default: 0.
    ///   - placeholder: The stand-in until the first image arrives.
    ///   - loading: Whether partial images are shown. Default: as the request says.
    ///   - retry: Whether a URL that failed before is loaded again. Default: as the request says.
    ///   - options: What concerns the widget rather than the images.
    ///   - transformer: The transformer that changes each image. Default: none.
    ///   - manager: The manager that loads. Default: the shared one.
    ///   - completion: Called exactly once, after all loads have ended: with the animation, or with the first error if all
    ///     of them failed.
    /// - Returns: All loads as one.
    @discardableResult
    public func setAnimationImages(
        with urls: [URL],
        frameDuration: Duration = .milliseconds(200),
        loopCount: Int = 0,
        placeholder: Placeholder? = nil,
        loading: ImageRequest.Loading? = nil,
        retry: ImageRequest.Retry? = nil,
        options: BindingOptions = BindingOptions(),
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        let image = urls.first?.request(loading, retry, transformer: transformer)
        var request = BindingRequest(image, placeholder: placeholder, options: options, manager: manager)
        if !urls.isEmpty {
            request.sequence = ImageSequence(urls: urls, frameDuration: frameDuration, loopCount: loopCount)
        }
        return imageBinding.set(request, completion)
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
    ) -> ImageTask {
        let image = source?.request(loading, retry, transformer: transformer)
        let request = BindingRequest(image, placeholder: placeholder, options: options, manager: manager)
        return imageBinding(for: state).set(request, completion)
    }

    /// Loads the image behind the child of the button in a state. All else is as with setImage. A GtkCheckButton has no surface for a
    /// background: the call ends the program.
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
    ) -> ImageTask {
        let image = source?.request(loading, retry, transformer: transformer)
        let request = BindingRequest(image, placeholder: placeholder, options: options, manager: manager)
        return backgroundImageBinding(for: state).set(request, completion)
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
    ) -> ImageTask {
        let image = source?.request(loading, retry, transformer: transformer)
        let request = BindingRequest(image, placeholder: placeholder, options: options, manager: manager)
        return iconBinding(at: position).set(request, completion)
    }
}
