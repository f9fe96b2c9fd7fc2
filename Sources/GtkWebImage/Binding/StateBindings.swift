public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

// The short forms, for what UIKit's users know under these names. All else is done with the bindings.

extension PictureBindable {
    /// Loads the image that is shown while isImageHighlighted; otherwise like setImage.
    @discardableResult
    public func setHighlightedImage(
        with url: URL?,
        options: ImageOptions = [],
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void = { _ in }
    ) -> ImageLoad {
        highlightedImageBinding.setImage(
            with: url,
            options: options,
            transformer: transformer,
            manager: manager,
            completion: completion
        )
    }
}

extension PictureBindable {
    /// Loads several images and plays them one after the other, in the order of their URLs, in whatever order they
    /// arrive. What has arrived plays already; those that fail are left out. All are drawn in the shape of the first
    /// one.
    ///
    /// It takes the place of the widget's image: what is set next ends it.
    /// - Parameters:
    ///   - urls: Where the images are; without any the placeholder is shown.
    ///   - frameDuration: How long each is shown. Default: 0.2 s.
    ///   - loopCount: How often all of them are played. Default: 0, for ever.
    ///   - placeholder: Shown until the first one is there.
    ///   - options: See ImageOptions.
    ///   - transformer: Changes each image before it is shown.
    ///   - manager: Loads them. Default: the shared one.
    ///   - completion: Called exactly once, when all are through: with the animation, or with the first error when none
    ///     could be had.
    /// - Returns: The loads as one, to cancel them.
    @discardableResult
    public func setAnimationImages(
        with urls: [URL],
        frameDuration: Duration = .milliseconds(200),
        loopCount: Int = 0,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageLoad {
        var request = SlotRequest(urls.first, placeholder, options, transformer, manager)
        if !urls.isEmpty {
            request.sequence = ImageSequence(urls: urls, frameDuration: frameDuration, loopCount: loopCount)
        }
        return imageBinding.preparedSlot().set(request, completion)
    }
}

extension ButtonBindable {
    /// Loads the image of a state. A state without one shows that of the normal state. Otherwise like setImage.
    @discardableResult
    public func setImage(
        with url: URL?,
        for state: ImageState,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void = { _ in }
    ) -> ImageLoad {
        imageBinding(for: state).setImage(
            with: url,
            placeholder: placeholder,
            options: options,
            transformer: transformer,
            manager: manager,
            completion: completion
        )
    }

    /// Loads the image behind the button's child in a state. Otherwise like setImage.
    @discardableResult
    public func setBackgroundImage(
        with url: URL?,
        for state: ImageState = .normal,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void = { _ in }
    ) -> ImageLoad {
        backgroundImageBinding(for: state).setImage(
            with: url,
            placeholder: placeholder,
            options: options,
            transformer: transformer,
            manager: manager,
            completion: completion
        )
    }
}

extension EntryBindable {
    /// Loads an icon of the entry. Otherwise like setImage.
    @discardableResult
    public func setIcon(
        with url: URL?,
        at position: EntryIconPosition,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void = { _ in }
    ) -> ImageLoad {
        iconBinding(at: position).setImage(
            with: url,
            placeholder: placeholder,
            options: options,
            transformer: transformer,
            manager: manager,
            completion: completion
        )
    }
}
