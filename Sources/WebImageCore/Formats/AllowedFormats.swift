package import FoundationEssentials

/// The formats that the images of a manager may have, by where they come from. The bytes of a file decide, never its name or
/// the media type that a server states.
///
/// Formats of an app's own decoders, which the library does not know, are always allowed. A format that only a loader of
/// gdk-pixbuf knows is named by its media type: `ImageFormat(rawValue: "image/x-xcf")`.
public struct AllowedFormats: Sendable, Hashable {
    /// The formats of images from strangers: those of http, https and data URLs, and of an app's own loaders. Default:
    /// ``web``, and SVG as long as it is decoded in a worker without rights.
    ///
    /// An app that needs other formats adds them: `configuration.formats.network.formUnion([.heif, .svg])`. From then on only
    /// these are allowed. An SVG that is decoded in the process of the app can take all of its memory, and seconds of a
    /// processor.
    public var network: Set<ImageFormat> {
        get { ofApp ?? Self.web }
        set { ofApp = newValue }
    }
    /// What the app has set; `nil` for the default.
    private var ofApp: Set<ImageFormat>?
    /// The formats that are allowed by default because they are decoded in workers.
    package var inWorkers: Set<ImageFormat> = []
    /// The formats of file and resource URLs; `nil`, the default, for every format that is installed.
    public var local: Set<ImageFormat>?

    /// Creates the default: ``web`` from the network, every installed format from files and resources.
    public init() {}

    /// The formats that browsers show but for SVG: JPEG, PNG and APNG, GIF, WebP, BMP, ICO, AVIF and TIFF.
    public static let web: Set<ImageFormat> = [.jpeg, .png, .gif, .webp, .bmp, .ico, .avif, .tiff]

    /// The formats that only a worker may decode when they come from the network.
    package var onlyInWorkers: Set<ImageFormat> { ofApp == nil ? inWorkers : [] }

    /// Throws when a file may not have its format.
    /// - Throws: ``ImageError/Code/formatNotAllowed``.
    /// - Parameter isInstalled: Whether the format is one that something installed on the machine knows, rather than the library.
    package func check(_ format: ImageFormat, isInstalled: Bool = false, url: URL) throws(ImageError) {
        // Any other format without a row in the table is that of an app's own decoder, or there is none for it.
        let network = ofApp ?? Self.web.union(inWorkers)
        guard !network.contains(format) || local?.contains(format) == false, isInstalled || format.descriptor != nil
        else { return }
        let isLocal = ["file", "resource"].contains(url.scheme?.lowercased())
        guard let allowed = isLocal ? local : network, !allowed.contains(format) else { return }
        let setting = isLocal ? "local" : "network"
        throw ImageError(
            .formatNotAllowed,
            url: url,
            reason: "The format \(format.name) is not allowed for \(url.scheme ?? "these") URLs",
            remedy: """
                If the app is to show it, insert \(isInstalled ? "ImageFormat(rawValue: \"\(format.rawValue)\")" : ".\(format.rawValue)") \
                into formats.\(setting) of the manager's configuration.
                """
        ).dependingOnRequest()
    }
}
