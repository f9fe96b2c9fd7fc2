import Foundation
import Gtk
import GtkBackend
import GtkWebImage
import SwiftCrossUI

extension Gtk.Picture: @retroactive PictureBindable {
    /// The `GtkPicture *`.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { .init(gobjectPointer) }
}

/// An image from the web as a view of SwiftCrossUI with GtkBackend. It takes the space that it is offered.
///
///     WebImageView(url, placeholder: .icon("image-x-generic-symbolic"))
///         .frame(width: 320, height: 240)
public struct WebImageView: GtkWidgetRepresentable {
    private let url: URL?
    private let placeholder: ImagePlaceholder?
    private let transition: ImageTransition?

    /// Creates a view of an image.
    /// - Parameters:
    ///   - url: The URL of the image; `nil` for none.
    ///   - placeholder: What is shown until there is an image. Default: nothing.
    ///   - transition: The transition from the placeholder to the image. Default: none.
    public init(_ url: URL?, placeholder: ImagePlaceholder? = nil, transition: ImageTransition? = nil) {
        self.url = url
        self.placeholder = placeholder
        self.transition = transition
    }

    /// Creates the widget.
    public func makeGtkWidget(context: Context) -> Gtk.Picture { Gtk.Picture() }

    /// Loads the image, unless the widget loads or shows it already: SwiftCrossUI calls this at every layout.
    public func updateGtkWidget(_ picture: Gtk.Picture, context: Context) {
        picture.imageTransition = transition
        guard let url else { return picture.clearImage(placeholder: placeholder) }
        picture.setImage(with: url, placeholder: placeholder)
    }

    /// The size that is offered, or that of a thumbnail.
    public func sizeThatFits(_ proposal: ProposedViewSize, gtkWidget: Gtk.Picture, context: Context) -> ViewSize {
        ViewSize(proposal.width ?? 160, proposal.height ?? 120)
    }
}
