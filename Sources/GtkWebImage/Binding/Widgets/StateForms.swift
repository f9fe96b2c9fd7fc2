public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

// The short forms, for what UIKit's users know under these names. All else is done with the bindings.

extension PictureBindable {
    /// Loads the picture that is shown while ``isImageHighlighted``; otherwise like `setImage`.
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

extension ButtonBindable {
    /// Loads the picture of a state. A state without one shows that of the normal state. Otherwise like `setImage`.
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

    /// Loads the picture behind the button's child in a state. Otherwise like `setImage`.
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
    /// Loads an icon of the entry. Otherwise like `setImage`.
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
