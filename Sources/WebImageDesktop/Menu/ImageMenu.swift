public import GtkWebImage
public import WebImageCore

/// A menu for the image of a widget, with the titles of its entries. It opens with the right mouse button, a long touch and, if the
/// widget has the focus, the Menu key or Shift+F10.
///
///     picture.imageMenu = ImageMenu()
///
/// The entries concern the original file of the image that is on display when the menu opens, even if the widget shows fewer pixels.
/// They are disabled while the widget has no image or loads another one. An image that the app has set itself is a PNG.
@preconcurrency @MainActor
public struct ImageMenu {
    let copy: String
    let save: String
    let open: String
    let copyAddress: String
    let onFailure: (@MainActor @Sendable (ImageError) -> Void)?

    /// Creates a menu. An underscore precedes the letter that activates an entry.
    /// - Parameters:
    ///   - copy: The title of the entry that puts the image on the clipboard. The file is loaded when another program asks for it.
    ///   - save: The title of the entry that asks for a place, through a portal in a sandbox, and writes the file there.
    ///   - open: The title of the entry that opens the file with the program that the desktop has for it.
    ///   - copyAddress: The title of the entry that puts the URL on the clipboard, with its query and without a password. It is enabled
    ///     for http and https.
    ///   - onFailure: Receives the error if an image cannot be saved or opened. Default: the error is logged.
    public init(
        copy: String = "_Copy Image",
        save: String = "_Save Image As…",
        open: String = "_Open Image",
        copyAddress: String = "Copy _Address",
        onFailure: (@MainActor @Sendable (ImageError) -> Void)? = nil
    ) {
        (self.copy, self.save, self.open, self.copyAddress) = (copy, save, open, copyAddress)
        self.onFailure = onFailure
    }

    @MainActor
    func report(_ error: ImageError) {
        if let onFailure { onFailure(error) } else { WebImageLog.error("\(error)") }
    }
}

extension WidgetBindable {
    /// The menu of the image. A GtkEntry keeps the menu of its text. Default: none.
    public var imageMenu: ImageMenu? {
        get { MenuController.existing(of: nativeWidgetPointer)?.menu }
        nonmutating set {
            if let controller = MenuController.existing(of: nativeWidgetPointer) {
                controller.menu = newValue
            } else if let newValue {
                MenuController.attach(newValue, to: nativeWidgetPointer, imageBinding)
            }
        }
    }
}
