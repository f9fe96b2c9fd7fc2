internal import CWebImageGLib
internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
public import WebImageCore

// Images for the clipboard, drag and drop, and notifications.
extension WebImage {
    /// Returns a GdkContentProvider of the image, for copying (`gdk_clipboard_set_content`) or dragging it out
    /// (`gtk_drag_source_set_content`). The caller owns the reference (g_object_unref). Main thread.
    ///
    /// GTK's functions accept it as `UnsafeMutablePointer<GdkContentProvider>(image.makeContentProvider())`.
    ///
    /// Other programs receive a texture, which GTK encodes in the format that they request. To offer the original file of a loaded
    /// image, use `ImageManager.makeContentProvider`.
    @preconcurrency @MainActor
    public func makeContentProvider() -> OpaquePointer {
        var value = GValue()
        g_value_init(&value, gdk_texture_get_type())
        let texture = makeTexture()
        g_value_take_object(&value, UnsafeMutableRawPointer(texture))
        defer { g_value_unset(&value) }
        return OpaquePointer(gdk_content_provider_new_for_value(&value)!)
    }

    /// Returns a GIcon of the image for a notification or a menu (`g_notification_set_icon`). The caller owns the reference
    /// (g_object_unref). You may call it on any thread.
    ///
    /// The icon contains a PNG, because it is sent to another process.
    /// - Parameter longestSide: The longest side in pixels; larger images are scaled down. Default: 128.
    /// - Throws: `ImageError.Code.encodingFailed` if out of memory.
    public func makeIcon(longestSide: Int = 128) throws(ImageError) -> OpaquePointer {
        Self.makeIcon(of: try iconFile(longestSide: longestSide))
    }

    /// The PNG of an icon of the image.
    fileprivate func iconFile(longestSide: Int) throws(ImageError) -> Data {
        var options = EncodeOptions()
        options.maximumSize = PixelSize(width: longestSide, height: longestSide)
        options.isFirstFrameOnly = true
        return try CoderRegistry.builtIn.encode(self, as: .png, options: options)
    }

    fileprivate static func makeIcon(of png: Data) -> OpaquePointer {
        let bytes = png.withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) }
        defer { g_bytes_unref(bytes) }
        return g_bytes_icon_new(bytes)!
    }
}

extension ImageManager {
    /// Loads an image and returns a GIcon of it for a notification. The caller owns the reference (g_object_unref).
    ///
    ///     let icon = try await ImageManager.shared.makeIcon(for: url)
    ///     g_notification_set_icon(notification, icon)
    ///     g_object_unref(UnsafeMutableRawPointer(icon))
    /// - Parameters:
    ///   - request: A URL or an ImageRequest.
    ///   - longestSide: The longest side in pixels. Default: 128.
    /// - Returns: The icon, encoded on another thread.
    @preconcurrency @MainActor
    public func makeIcon(
        for request: some ImageRequestConvertible,
        longestSide: Int = 128
    ) async throws(ImageError) -> OpaquePointer {
        var request = request.imageRequest
        if request.decodeSize == nil {
            request.decodeSize = .contain(PixelSize(width: longestSide, height: longestSide))
        }
        let image = try await image(for: request)
        let file = await inBackground {
            Result { () throws(ImageError) in try image.iconFile(longestSide: longestSide) }
        }
        return WebImage.makeIcon(of: try file.get())
    }
}
