internal import CWebImageGtk4
import FoundationEssentials

/// Tells whether cells show the images of their items. A measurement of the library does not take its word for it: which image a
/// cell ought to show is told by the item of the model, and which one it shows by the pixels of the paintable in its GtkPicture.
/// Each image in a cell is looked at once.
@MainActor
final class CellChecker {
    private struct Seen {
        let url: URL
        weak var look: Look?
    }

    /// What a texture looks like. The texture keeps it.
    private final class Look: Sendable {
        let signature: ImageSignature

        init(_ texture: OpaquePointer) { signature = ImageSignature(texture: texture) }
    }

    private static let key = "gallery-look"

    private let signatures: ImageSignatures
    private var seen: [Widget: Seen] = [:]
    /// How many images were looked at, and how many of them belong to other URLs.
    private(set) var counts = (checked: 0, wrong: 0)

    init(_ signatures: ImageSignatures) {
        self.signatures = signatures
    }

    /// Looks at what a GtkPicture shows.
    /// - Parameter url: The URL of the item in its cell.
    func check(_ texture: borrowing CellTexture, in picture: Widget, itemURL url: URL) {
        let look = look(of: texture.native)
        if let seen = seen[picture], seen.look === look, seen.url == url { return }
        seen[picture] = Seen(url: url, look: look)
        counts.checked += 1
        if !signatures.isImage(look.signature, of: url.lastPathComponent) { counts.wrong += 1 }
    }

    private func look(of texture: OpaquePointer) -> Look {
        let object = cast(texture, to: GObject.self)
        if let known = g_object_get_data(object, Self.key) {
            return Unmanaged<Look>.fromOpaque(known).takeUnretainedValue()
        }
        let look = Look(texture)
        g_object_set_data_full(object, Self.key, Unmanaged.passRetained(look).toOpaque()) {
            Unmanaged<AnyObject>.fromOpaque($0!).release()
        }
        return look
    }
}

/// The texture that a GtkPicture shows at present.
@MainActor
struct CellTexture: ~Copyable {
    let native: OpaquePointer

    /// - Returns: `nil` when the widget shows nothing, or what is no texture.
    init?(_ picture: Widget) {
        guard let paintable = gtk_picture_get_paintable(OpaquePointer(picture)),
            let image = gdk_paintable_get_current_image(paintable)
        else { return nil }
        guard g_type_check_instance_is_a(cast(image), gdk_texture_get_type()) != 0 else {
            g_object_unref(UnsafeMutableRawPointer(image))
            return nil
        }
        native = image
    }

    deinit { g_object_unref(UnsafeMutableRawPointer(native)) }
}
