package import FoundationEssentials

/// The formats that the images of a manager may have, by where they come from. The bytes of a file decide, never its name or
/// the media type that a server states.
///
/// Formats of an app's own decoders, which the library does not know, are always allowed. A format that only a loader of
/// gdk-pixbuf knows is named by its media type: `ImageFormat(rawValue: "image/x-xcf")`.
public struct AllowedFormats: Sendable, Hashable {
    /// The formats of images from strangers: those of http, https and data URLs, and of an app's own loaders. Default:
    /// ``web``.
    ///
    /// An app that needs other formats adds them: `configuration.formats.network.insert(.heif)`. SVG is allowed beside them where
    /// it is decoded in a worker without rights, see ``allowsSVGInWorkers``; it is not in this set, and inserting it allows it in
    /// the process of the app, too, where an SVG can take all memory and seconds of a processor.
    public var network = Self.web
    /// Whether SVG may come from the network where it is decoded in a worker without rights, although ``network`` does not contain
    /// it. This holds as long as ``network`` has all formats of ``web``: a shorter list is meant as it is. Default: `true`.
    public var allowsSVGInWorkers = true
    /// The formats that workers without rights decode and that are not allowed elsewhere.
    package var inWorkers: Set<ImageFormat> = []
    /// The formats of file and resource URLs; `nil`, the default, for every format that is installed.
    public var local: Set<ImageFormat>?

    /// Creates the default: ``web`` from the network, every installed format from files and resources.
    public init() {}

    /// The usual formats of the web except SVG, and TIFF: JPEG, PNG and APNG, GIF, WebP, BMP, ICO, AVIF and TIFF.
    public static let web: Set<ImageFormat> = [.jpeg, .png, .gif, .webp, .bmp, .ico, .avif, .tiff]

    /// The formats that only a worker may decode when they come from the network.
    package var onlyInWorkers: Set<ImageFormat> {
        guard allowsSVGInWorkers, network.isSuperset(of: Self.web) else { return [] }
        return inWorkers.subtracting(network)
    }

    /// Throws when a file may not have its format.
    /// - Throws: ``ImageError/Code/formatNotAllowed``.
    /// - Parameter isInstalled: Whether the format is one that something installed on the machine knows, rather than the library.
    package func check(_ format: ImageFormat, isInstalled: Bool = false, url: URL) throws(ImageError) {
        // Any other format without a row in the table is that of an app's own decoder, or there is none for it.
        let network = network.union(onlyInWorkers)
        guard !network.contains(format) || local?.contains(format) == false, isInstalled || format.descriptor != nil
        else { return }
        let isLocal = ["file", "resource"].contains(url.scheme?.lowercased())
        guard let allowed = isLocal ? local : network, !allowed.contains(format) else { return }
        let setting = isLocal ? "local" : "network"
        let name = isInstalled ? "ImageFormat(rawValue: \"\(format.rawValue)\")" : ".\(format.rawValue)"
        let insertion = "insert \(name) into formats.\(setting) of the manager's configuration"
        throw ImageError(
            .formatNotAllowed,
            url: url,
            reason: "The format \(format.name) is not allowed for \(url.scheme ?? "these") URLs",
            remedy: format == .svg && !isLocal
                ? """
                Decode in workers (decoding = .automatic), which may decode SVG without rights. Only if you trust the servers, \
                \(insertion).
                """ : "If the app is to show it, \(insertion)."
        ).dependingOnRequest()
    }
}
