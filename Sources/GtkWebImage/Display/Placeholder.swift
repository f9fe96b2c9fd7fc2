public import FoundationEssentials
public import WebImageCore

/// What a widget shows while its image is loaded, or when it cannot be.
public struct Placeholder: Sendable {
    enum Kind: Sendable {
        case icon(String, pixelSize: Int)
        case image(WebImage)
        case color(ImageColor)
        case paintable(SharedPaintable)
        /// Shown once it is loaded.
        case url(URL)
    }

    let kind: Kind

    /// An icon of the icon theme, in the middle, in the colour of text when it is symbolic.
    /// - Parameters:
    ///   - name: Such as image-x-generic-symbolic. An unknown one shows the theme's sign for a missing icon.
    ///   - pixelSize: Width and height in application pixels; less where there is no room. Default: 32.
    public static func icon(_ name: String, pixelSize: Int = 32) -> Placeholder {
        Placeholder(kind: .icon(name, pixelSize: max(1, pixelSize)))
    }

    /// A blurred image; the same for every load, it is worth being kept by the app.
    /// - Returns: nil when there is no memory.
    public static func blurHash(_ hash: BlurHash) -> Placeholder? { hash.image().map { .image($0) } }

    /// A blurred image; the same for every load, it is worth being kept by the app.
    /// - Returns: nil when there is no memory.
    public static func thumbHash(_ hash: ThumbHash) -> Placeholder? { hash.image.map { .image($0) } }

    /// An image, drawn as the final one is.
    public static func image(_ image: WebImage) -> Placeholder {
        Placeholder(kind: .image(image))
    }

    /// A colour all over.
    public static func color(_ color: ImageColor) -> Placeholder {
        Placeholder(kind: .color(color))
    }

    /// A GdkPaintable * of the app's, a GdkTexture * among others, which is kept alive. It may move.
    @MainActor
    public static func paintable(_ pointer: UnsafeMutableRawPointer) -> Placeholder {
        Placeholder(kind: .paintable(SharedPaintable(pointer)))
    }

    /// Another image, a small one or one that the app shows often: loaded like any other, at the size of the widget,
    /// and shown when it is there before the image itself. Nothing is shown until then.
    public static func url(_ url: URL) -> Placeholder {
        Placeholder(kind: .url(url))
    }
}
