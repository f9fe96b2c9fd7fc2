import FoundationEssentials
public import WebImageCore
import WebImageLinux

// Short forms for the named places of widgets. Their bindings offer all of ImageBindable, such as progress handlers.

extension ButtonBindable {
    /// Loads the image of a state. A state without an image shows the normal one. Parameters are as for `setImage(with:)`.
    @discardableResult
    public func setImage(
        with source: (some ImageRequestConvertible)?,
        for state: ButtonImageState,
        placeholder: ImagePlaceholder? = nil,
        options: BindingOptions = BindingOptions(),
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        let request = BindingRequest(image: source?.imageRequest, placeholder: placeholder, options: options)
        return imageBinding(for: state).set(request, completion)
    }

    /// Loads the image behind the child of the button in a state. Parameters are as for `setImage(with:)`. The call
    /// traps for a GtkCheckButton, which has no surface for a background.
    @discardableResult
    public func setBackgroundImage(
        with source: (some ImageRequestConvertible)?,
        for state: ButtonImageState = .normal,
        placeholder: ImagePlaceholder? = nil,
        options: BindingOptions = BindingOptions(),
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        backgroundImageBinding(for: state).set(
            BindingRequest(image: source?.imageRequest, placeholder: placeholder, options: options),
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
        placeholder: ImagePlaceholder? = nil,
        options: BindingOptions = BindingOptions(),
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        let request = BindingRequest(image: source?.imageRequest, placeholder: placeholder, options: options)
        return iconBinding(at: position).set(request, completion)
    }
}
