public import FoundationEssentials
public import WebImageCore
import WebImageLinux

/// What a widget shows while its image loads, or after the load has failed.
public struct ImagePlaceholder: Sendable {
    enum Kind: Sendable {
        case icon(String, size: Int)
        case image(WebImage)
        case color(ImageColor)
        case paintable(GObjectBox)
        /// Shown once it has loaded.
        case url(URL)
    }

    let kind: Kind

    /// A themed icon, centered. A symbolic icon is drawn in the text color of the widget.
    ///
    /// ![An icon in the middle of a widget](placeholder-icon)
    ///
    /// - Parameters:
    ///   - name: An icon name such as image-x-generic-symbolic. An unknown name shows the theme's image-missing
    ///     icon.
    ///   - size: Width and height in application pixels. A smaller widget shrinks the icon. Default: 32.
    public static func icon(_ name: String, size: Int = 32) -> ImagePlaceholder {
        ImagePlaceholder(kind: .icon(name, size: max(1, size)))
    }

    /// A blurred preview decoded from a BlurHash. Keep the placeholder if the same hash is shown often, because each
    /// call decodes it.
    ///
    /// ![A sky and sand, very blurred](placeholder-blurhash)
    ///
    /// - Returns: `nil` if memory runs out.
    public static func blurHash(_ hash: BlurHash) -> ImagePlaceholder? { hash.image().map { .image($0) } }

    /// A blurred preview decoded from the characters of a BlurHash. An invalid hash is logged.
    ///
    /// ![A sky and sand, very blurred](placeholder-blurhash)
    ///
    /// - Returns: `nil`, which shows nothing, if the string is not a hash.
    public static func blurHash(_ string: String) -> ImagePlaceholder? {
        if let hash = BlurHash(string) { return blurHash(hash) }
        WebImageLog.notice("There is no placeholder, because this is no BlurHash: \(string)")
        return nil
    }

    /// A blurred preview decoded from a ThumbHash in base64. An invalid hash is logged.
    ///
    /// ![A sky and sand, very blurred](placeholder-thumbhash)
    ///
    /// - Returns: `nil`, which shows nothing, if the string is not a hash.
    public static func thumbHash(_ base64: String) -> ImagePlaceholder? {
        if let hash = ThumbHash(base64: base64) { return thumbHash(hash) }
        WebImageLog.notice("There is no placeholder, because this is no ThumbHash in base64: \(base64)")
        return nil
    }

    /// A blurred preview decoded from a ThumbHash. Keep the placeholder if the same hash is shown often, because each
    /// call decodes it.
    ///
    /// ![A sky and sand, very blurred](placeholder-thumbhash)
    ///
    /// - Returns: `nil` if memory runs out.
    public static func thumbHash(_ hash: ThumbHash) -> ImagePlaceholder? { hash.image.map { .image($0) } }

    /// An image, drawn in the same way as the final one.
    ///
    /// ![A small image, enlarged to the size of the widget](placeholder-image)
    public static func image(_ image: WebImage) -> ImagePlaceholder {
        ImagePlaceholder(kind: .image(image))
    }

    /// A solid color.
    ///
    /// ![A widget in one color](placeholder-color)
    public static func color(_ color: ImageColor) -> ImagePlaceholder {
        ImagePlaceholder(kind: .color(color))
    }

    /// Your own GdkPaintable *, such as a GdkTexture *. The placeholder keeps it alive. It may be animated.
    ///
    /// A GtkSymbolicPaintable has the text color of the widget. A GtkSvg, for which you need GTK 4.22, plays while a
    /// widget shows it, unless motion is reduced when it appears. Use such a GtkSvg for placeholders only.
    ///
    /// ![A butterfly, which the app draws](placeholder-paintable)
    @preconcurrency @MainActor
    public static func paintable(_ paintable: OpaquePointer) -> ImagePlaceholder {
        ImagePlaceholder(kind: .paintable(GObjectBox(retaining: UnsafeMutableRawPointer(paintable))))
    }

    /// Another image, such as a thumbnail, loaded at the size of the widget when the load of the image itself starts.
    /// It appears if it arrives first. The widget is empty until then.
    ///
    /// ![A small image, enlarged to the size of the widget](placeholder-url)
    public static func url(_ url: URL) -> ImagePlaceholder {
        ImagePlaceholder(kind: .url(url))
    }
}
