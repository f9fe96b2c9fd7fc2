import FoundationEssentials
public import WebImageCore
public import WebImageLinux

// Short forms for the named places of widgets. Their bindings offer all of ImageBindable, such as progress handlers.

extension PictureBindable {
    /// Loads the image that is shown while ``isImageHighlighted`` is set. Parameters are as for `setImage(with:)`.
    @discardableResult
    public func setHighlightedImage(
        with source: (some ImageRequestConvertible)?,
        placeholder: Placeholder? = nil,
        options: BindingOptions = BindingOptions(),
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        highlightedImageBinding.set(
            BindingRequest(source, placeholder: placeholder, options: options, manager: manager),
            completion
        )
    }

    /// Loads several images and plays them one after another, in the order of the list. Images that have arrived
    /// already play; images that fail are left out. All are drawn with the shape and the number of pixels of the first
    /// one. The animation replaces the image of the widget, and the next image replaces the animation.
    /// - Parameters:
    ///   - sources: The URLs of the images, or requests for them. An empty list clears the widget, or shows the placeholder.
    ///   - frameDuration: The duration of each frame. Default: 0.2 s.
    ///   - loopCount: The number of times to play the images; 0 means endlessly. Default: 0.
    ///   - placeholder: What the widget shows until the first image arrives.
    ///   - options: How the widget treats the load.
    ///   - manager: The manager that loads the images. Default: the shared one.
    ///   - completion: Called exactly once, after all loads have ended: with the animation, or with the first error if
    ///     all of them failed.
    /// - Returns: All loads as one.
    @discardableResult
    public func setAnimationImages(
        with sources: [some ImageRequestConvertible],
        frameDuration: Duration = .milliseconds(200),
        loopCount: Int = 0,
        placeholder: Placeholder? = nil,
        options: BindingOptions = BindingOptions(),
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        var request = BindingRequest(sources.first, placeholder: placeholder, options: options, manager: manager)
        if !sources.isEmpty {
            let requests = sources.map(\.imageRequest)
            request.sequence = ImageSequence(requests: requests, frameDuration: frameDuration, loopCount: loopCount)
        }
        return imageBinding.set(request, completion)
    }
}

extension ButtonBindable {
    /// Loads the image of a state. A state without an image shows the normal one. Parameters are as for `setImage(with:)`.
    @discardableResult
    public func setImage(
        with source: (some ImageRequestConvertible)?,
        for state: ButtonImageState,
        placeholder: Placeholder? = nil,
        options: BindingOptions = BindingOptions(),
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        imageBinding(for: state).set(
            BindingRequest(source, placeholder: placeholder, options: options, manager: manager),
            completion
        )
    }

    /// Loads the image behind the child of the button in a state. Parameters are as for `setImage(with:)`. The call
    /// traps for a GtkCheckButton, which has no surface for a background.
    @discardableResult
    public func setBackgroundImage(
        with source: (some ImageRequestConvertible)?,
        for state: ButtonImageState = .normal,
        placeholder: Placeholder? = nil,
        options: BindingOptions = BindingOptions(),
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        backgroundImageBinding(for: state).set(
            BindingRequest(source, placeholder: placeholder, options: options, manager: manager),
            completion
        )
    }
}

extension EntryBindable {
    /// Loads an icon of the entry. Parameters are as for `setImage(with:)`.
    @discardableResult
    public func setIcon(
        with source: (some ImageRequestConvertible)?,
        at position: EntryIconPosition,
        placeholder: Placeholder? = nil,
        options: BindingOptions = BindingOptions(),
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        iconBinding(at: position).set(
            BindingRequest(source, placeholder: placeholder, options: options, manager: manager),
            completion
        )
    }
}
