import Adwaita
import Foundation
import GtkWebImage

/// An image from the web as a view of Adwaita for Swift.
///
///     WebPicture(url, placeholder: .icon("image-x-generic-symbolic"))
///         .frame(minWidth: 320, minHeight: 240)
public struct WebPicture: SimpleView {
    private let url: URL?
    private let placeholder: ImagePlaceholder?

    /// Creates a view of an image.
    /// - Parameters:
    ///   - url: The URL of the image; `nil` for none.
    ///   - placeholder: What is shown until there is an image. Default: nothing.
    public init(_ url: URL?, placeholder: ImagePlaceholder? = nil) {
        self.url = url
        self.placeholder = placeholder
    }

    /// The GtkPicture, with its image. Setting the URL that the widget loads or shows already changes nothing, so it may be
    /// set at every update.
    public var view: Body {
        Picture()
            .inspect { [url, placeholder] storage, updatesProperties in
                guard updatesProperties, let pointer = storage.opaquePointer else { return }
                // Views are updated on the main thread, which Adwaita for Swift does not tell the compiler.
                MainActor.assumeIsolated {
                    let picture = WidgetPointer(pointer)
                    guard let url else { return picture.clearImage(placeholder: placeholder) }
                    picture.setImage(with: url, placeholder: placeholder)
                }
            }
    }
}
