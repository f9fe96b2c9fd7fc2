public import FoundationEssentials

/// The format of an image's file. Told from the content, never from the name.
public struct ImageFormat: RawRepresentable, Hashable, Sendable {
    /// A short lower-case name, such as jpeg.
    public let rawValue: String
    /// Makes a format of a custom coder; give it a name of its own.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Not known, or not an image.
    public static let unknown = ImageFormat(rawValue: "unknown")
    /// JPEG.
    public static let jpeg = ImageFormat(rawValue: "jpeg")
    /// PNG, also animated (APNG).
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

    /// Netpbm: bitmaps (PBM), grey (PGM) and colours (PPM).
    public static let pnm = ImageFormat(rawValue: "pnm")
    /// Truevision TGA, which has no mark: a hint is needed.
    public static let tga = ImageFormat(rawValue: "tga")
    /// Icons of macOS.
    public static let icns = ImageFormat(rawValue: "icns")
    /// X pixmap.
    public static let xpm = ImageFormat(rawValue: "xpm")
    /// Animated cursors of Windows, of which the first image is shown.
    public static let ani = ImageFormat(rawValue: "ani")

    /// The Debian package that has a decoder for the format, where the library needs one that may not be installed.
    package var debianPackage: String? {
        switch self {
        case .svg: "librsvg2-common"
        case .avif: "libavif-gdk-pixbuf"
        case .heif: "heif-gdk-pixbuf"
        case .jpegXL: "libjxl-gdk-pixbuf"
        case .jpeg, .png, .gif, .tiff, .bmp, .ico, .pnm, .tga, .icns, .xpm, .ani: "libgdk-pixbuf-2.0-0"
        default: nil
        }
    }
}

extension ImageFormat {
    /// How many bytes from the start always suffice to tell the format.
    package static let sniffLength = 512

    /// Tells the format from the first bytes of a file.
    /// - Returns: unknown when they are not those of an image, or when there are too few of them.
    public init(sniffing data: Data) {
        self = data.prefix(Self.sniffLength).withUnsafeBytes { Self.sniff(ByteReader($0)) }
    }

    /// The same for files that may not say what they are.
    package init(sniffing data: Data, hint: ImageFormat?) {
        let found = ImageFormat(sniffing: data)
        self = found == .unknown ? hint ?? .unknown : found
    }

    private static func sniff(_ bytes: ByteReader) -> ImageFormat {
        if bytes.matches([0xFF, 0xD8, 0xFF], at: 0) { return .jpeg }
        if bytes.matches([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], at: 0) { return .png }
        if bytes.matches("GIF87a", at: 0) || bytes.matches("GIF89a", at: 0) { return .gif }
        if bytes.matches("RIFF", at: 0), bytes.matches("WEBP", at: 8) { return .webp }
        if bytes.matches([0x49, 0x49, 0x2A, 0x00], at: 0) || bytes.matches([0x4D, 0x4D, 0x00, 0x2A], at: 0) {
            return .tiff
        }
        if bytes.matches("BM", at: 0), bytes.matches([0, 0, 0, 0], at: 6) { return .bmp }
        if bytes.matches([0, 0, 1, 0], at: 0), let count = bytes.uint16LE(4), count > 0 { return .ico }
        if bytes.matches([0xFF, 0x0A], at: 0) || bytes.matches([0, 0, 0, 0x0C], at: 0) && bytes.matches("JXL ", at: 4) {
            return .jpegXL
        }
        if bytes.matches("icns", at: 0) { return .icns }
        if bytes.matches("/* XPM */", at: 0) { return .xpm }
        if bytes.matches("RIFF", at: 0), bytes.matches("ACON", at: 8) { return .ani }
        if let kind = bytes.uint8(1), bytes.matches("P", at: 0), (0x31...0x36).contains(kind),
            let next = bytes.uint8(2), next == 0x23 || next == 0x20 || (0x09...0x0D).contains(next)
        {
            return .pnm
        }
        if bytes.matches("ftyp", at: 4) { return sniffBoxes(bytes) }
        if bytes.matches("%PDF-", at: 0) { return .pdf }
        return looksLikeSVG(bytes) ? .svg : .unknown
    }

    /// The brands of an ISO base media file (ISO/IEC 23008-12 for HEIF, AV1 Image File Format for AVIF).
    private static func sniffBoxes(_ bytes: ByteReader) -> ImageFormat {
        for brand in ["avif", "avis"] where bytes.matches(brand, at: 8) { return .avif }
        for brand in ["heic", "heix", "hevc", "hevx", "heim", "heis"] where bytes.matches(brand, at: 8) { return .heif }
        guard bytes.matches("mif1", at: 8) || bytes.matches("msf1", at: 8) else { return .unknown }
        let end = min(Int(bytes.uint32BE(0) ?? 0), bytes.count)
        for offset in stride(from: 16, to: end, by: 4) where bytes.matches("avif", at: offset) { return .avif }
        return .heif
    }

    /// An svg element within the first bytes, after any declaration, comment or document type.
    private static func looksLikeSVG(_ bytes: ByteReader) -> Bool {
        var start = bytes.matches([0xEF, 0xBB, 0xBF], at: 0) ? 3 : 0
        while let byte = bytes.uint8(start), byte == 0x20 || (0x09...0x0D).contains(byte) { start += 1 }
        guard bytes.uint8(start) == UInt8(ascii: "<"), !bytes.matches("<!DOCTYPE html", at: start) else { return false }
        for offset in start..<bytes.count where bytes.matches("<svg", at: offset) { return true }
        return false
    }
}
