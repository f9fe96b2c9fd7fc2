import FoundationEssentials

/// The formats that the images of a manager may have, by origin. The bytes of a file decide its format, not its name or the media
/// type that a server states.
///
/// Formats that only your own decoders know are always allowed. Name a format that only a loader of gdk-pixbuf knows by its media type:
/// `ImageFormat(rawValue: "image/x-xcf")`.
public struct AllowedFormats: Sendable, Hashable {
    /// The formats of untrusted images: from http, https and data URLs, and from your own loaders. Default: ``web``.
    ///
    /// A format of this set may also be decoded in the process of the app, where an SVG, for example, can use all memory and seconds
    /// of processor time. To allow another format only in a worker, insert it into ``inWorkers``.
    public var network = Self.web
    /// The formats beyond ``network`` that may come from the network if a worker without rights decodes them. Ignored if ``network``
    /// lacks a format of ``web``. Default: HEIC, JPEG XL, SVG and TIFF.
    public var inWorkers: Set<ImageFormat> = [.heif, .jpegXL, .svg, .tiff]
    /// The formats of ``inWorkers`` that this manager's workers decode.
    package var decodedInWorkers: Set<ImageFormat> = []
    /// The formats of file and resource URLs. Default: `nil`, which allows every installed format.
    public var local: Set<ImageFormat>?

    /// Creates the default: ``web`` from the network, every installed format from files and resources.
    public init() {}

    /// The formats that all browsers show, except SVG: JPEG, PNG and APNG, GIF, WebP, BMP, ICO and AVIF.
    public static let web: Set<ImageFormat> = [.jpeg, .png, .gif, .webp, .bmp, .ico, .avif]

    /// The formats that may come from the network only if a worker decodes them.
    package var onlyInWorkers: Set<ImageFormat> {
        guard network.isSuperset(of: Self.web) else { return [] }
        return inWorkers.intersection(decodedInWorkers).subtracting(network)
    }

    /// The formats that may come from the network.
    var untrusted: Set<ImageFormat> { network.union(onlyInWorkers) }

    /// The formats that images of every origin may have.
    var everywhere: Set<ImageFormat> { local.map { untrusted.intersection($0) } ?? untrusted }

    /// Throws if a file may not have its format.
    /// - Parameter isInstalled: Whether an installed loader recognizes the format, rather than the library.
    /// - Throws: ``ImageError/Code/formatNotAllowed``.
    func check(_ format: ImageFormat, isInstalled: Bool = false, url: URL) throws(ImageError) {
        // Other formats without a row in the table belong to decoders of the app, or no decoder reads them.
        guard isInstalled || format.descriptor != nil else { return }
        let isLocal = ["file", "resource"].contains(url.scheme?.lowercased())
        guard let allowed = isLocal ? local : untrusted, !allowed.contains(format) else { return }
        let setting = isLocal ? "local" : "network"
        let name = isInstalled ? "ImageFormat(rawValue: \"\(format.rawValue)\")" : ".\(format.rawValue)"
        let insertion = "insert \(name) into formats.\(setting) of the manager's configuration"
        throw ImageError(
            .formatNotAllowed,
            url: url,
            reason: "The format \(format.name) is not allowed for \(url.scheme ?? "these") URLs",
            remedy: inWorkers.contains(format) && !isLocal
                ? """
                Decode in workers (decoding = .automatic), which may decode \(format.name) without rights. Only if you trust the \
                servers, \(insertion).
                """ : "If the app is to show it, \(insertion)."
        ).dependingOnRequest()
    }
}
