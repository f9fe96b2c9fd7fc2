public import FoundationEssentials

/// The format of an image file, recognised by its content and never by its name.
public struct ImageFormat: RawRepresentable, Hashable, Sendable {
    /// A short lower-case name, such as `jpeg`.
    public let rawValue: String
    /// Makes the format of an app's own decoder or encoder, under a name that no other format has.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An unknown format, or no image.
    public static let unknown = ImageFormat(rawValue: "unknown")
    /// JPEG.
    public static let jpeg = ImageFormat(rawValue: "jpeg")
    /// PNG, still or animated (APNG).
    public static let png = ImageFormat(rawValue: "png")
    /// GIF.
    public static let gif = ImageFormat(rawValue: "gif")
    /// WebP.
    public static let webp = ImageFormat(rawValue: "webp")
    /// TIFF.
    public static let tiff = ImageFormat(rawValue: "tiff")
    /// Windows bitmap.
    public static let bmp = ImageFormat(rawValue: "bmp")
    /// Windows icon.
    public static let ico = ImageFormat(rawValue: "ico")
    /// HEIC and HEIF.
    public static let heif = ImageFormat(rawValue: "heif")
    /// AVIF.
    public static let avif = ImageFormat(rawValue: "avif")
    /// SVG.
    public static let svg = ImageFormat(rawValue: "svg")
    /// JPEG XL.
    public static let jpegXL = ImageFormat(rawValue: "jxl")
    /// PDF.
    public static let pdf = ImageFormat(rawValue: "pdf")
    /// Netpbm: bitmaps (PBM), greyscale (PGM) and colour (PPM) images.
    public static let pnm = ImageFormat(rawValue: "pnm")
    /// Truevision TGA. Its files have no signature, so a request needs a format hint.
    public static let tga = ImageFormat(rawValue: "tga")
    /// macOS icon.
    public static let icns = ImageFormat(rawValue: "icns")
    /// X pixmap.
    public static let xpm = ImageFormat(rawValue: "xpm")
    /// Windows animated cursor, of which the first image is shown.
    public static let ani = ImageFormat(rawValue: "ani")
}

extension ImageFormat {
    /// The number of bytes from the start of a file that suffices to recognise every format.
    package static let sniffLength = 512

    /// Recognises a format by the first bytes of a file.
    ///
    /// The result is `unknown` when the bytes are not those of an image in one of the library's formats, or too few.
    public init(sniffing data: Data) {
        self = data.prefix(Self.sniffLength).withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            return FormatDescriptor.all.first { $0.isSignature(bytes) }?.format ?? .unknown
        }
    }

    /// Recognises a format by the first bytes of a file; `hint` is the result for files without a signature.
    package init(sniffing data: Data, hint: ImageFormat?) {
        let found = ImageFormat(sniffing: data)
        self = found == .unknown ? hint ?? .unknown : found
    }

    /// The media type as registered with IANA; `nil` for formats of custom coders.
    public var mediaType: String? { descriptor?.mediaTypes.first }

    /// The usual extension of a file name, without a dot; `nil` for formats of custom coders.
    public var fileExtension: String? { descriptor?.fileExtensions.first }

    /// Makes the format of a media type. Parameters are ignored, as in image/png; charset=binary.
    /// - Returns: `nil` for a type that the library does not know.
    public init?(mediaType: String) {
        let name = mediaType.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
        guard let found = FormatDescriptor.all.first(where: { $0.mediaTypes.contains(name) }) else { return nil }
        self = found.format
    }

    /// Makes the format of a file extension without a dot.
    /// - Returns: `nil` for an extension that the library does not know.
    public init?(fileExtension: String) {
        let name = fileExtension.lowercased()
        guard let found = FormatDescriptor.all.first(where: { $0.fileExtensions.contains(name) }) else { return nil }
        self = found.format
    }
}
