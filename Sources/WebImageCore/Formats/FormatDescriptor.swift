public import FoundationEssentials

// The names of the formats. Each has a row in the table below.
extension ImageFormat {
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
    /// macOS icon.
    package static let icns = ImageFormat(rawValue: "icns")
    /// X pixmap.
    package static let xpm = ImageFormat(rawValue: "xpm")
}

/// The properties of a format, except how to decode and encode it.
package struct FormatDescriptor: Sendable {
    package let format: ImageFormat
    /// The media types, the usual one first.
    package let mediaTypes: [String]
    /// The file extensions without a dot, the usual one first.
    let fileExtensions: [String]
    /// Whether encoding loses information, so that a rendition may lose a little more.
    package let isLossy: Bool
    /// Whether a decoder can show partial images of an arriving file.
    let isDecodableInParts: Bool
    /// Whether bytes begin like a file of the format. The bytes may be cut off anywhere.
    let isSignature: @Sendable (ByteReader) -> Bool
    /// Reads the size and the orientation from the beginning of a file; `nil` if the library does not read this header.
    package let readHeader: (@Sendable (ByteReader) -> ImageHeader?)?

    private init(
        _ format: ImageFormat,
        mediaTypes: [String],
        fileExtensions: [String],
        isLossy: Bool = false,
        isDecodableInParts: Bool = false,
        readHeader: (@Sendable (ByteReader) -> ImageHeader?)? = nil,
        isSignature: @escaping @Sendable (ByteReader) -> Bool
    ) {
        self.format = format
        self.mediaTypes = mediaTypes
        self.fileExtensions = fileExtensions
        self.isLossy = isLossy
        self.isDecodableInParts = isDecodableInParts
        self.isSignature = isSignature
        self.readHeader = readHeader
    }

    /// One row for each format. The first row whose signature matches wins.
    ///
    /// For a new format, add a name above, a row here, and a folder in Sources/WebImageFormats with an entry in
    /// `CoderRegistry.ownDecoders`. Its C library needs a module in Sources/CLibraries and lines in Package.swift.
    package static let all: [FormatDescriptor] = [
        FormatDescriptor(
            .jpeg,
            mediaTypes: ["image/jpeg", "image/jpg", "image/pjpeg"],
            fileExtensions: ["jpg", "jpeg", "jpe", "jfif"],
            isLossy: true,
            isDecodableInParts: true,
            readHeader: JPEGHeader.read
        ) { $0.matches([0xFF, 0xD8, 0xFF], at: 0) },
        FormatDescriptor(
            .png,
            mediaTypes: ["image/png", "image/apng", "image/x-png"],
            fileExtensions: ["png", "apng"],
            isDecodableInParts: true,
            readHeader: PNGHeader.read
        ) { $0.matches([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], at: 0) },
        FormatDescriptor(
            .gif,
            mediaTypes: ["image/gif"],
            fileExtensions: ["gif"],
            isDecodableInParts: true,
            readHeader: GIFHeader.read
        ) { $0.matches("GIF87a", at: 0) || $0.matches("GIF89a", at: 0) },
        FormatDescriptor(
            .webp,
            mediaTypes: ["image/webp"],
            fileExtensions: ["webp"],
            isLossy: true,
            isDecodableInParts: true,
            readHeader: WebPHeader.read
        ) { $0.matches("RIFF", at: 0) && $0.matches("WEBP", at: 8) },
        FormatDescriptor(
            .tiff,
            mediaTypes: ["image/tiff"],
            fileExtensions: ["tiff", "tif"],
            readHeader: TIFFHeader.read
        ) { bytes in
            // BigTIFF has 43 in place of 42.
            [[0x49, 0x49, 0x2A, 0], [0x4D, 0x4D, 0, 0x2A], [0x49, 0x49, 0x2B, 0], [0x4D, 0x4D, 0, 0x2B]].contains {
                bytes.matches($0, at: 0)
            }
        },
        FormatDescriptor(
            .bmp,
            mediaTypes: ["image/bmp", "image/x-bmp", "image/x-ms-bmp"],
            fileExtensions: ["bmp", "dib"],
            readHeader: BMPHeader.read,
            isSignature: isBMP
        ),
        FormatDescriptor(
            .ico,
            mediaTypes: ["image/vnd.microsoft.icon", "image/x-icon"],
            fileExtensions: ["ico", "cur"],
            readHeader: ICOHeader.read,
            isSignature: isIcon
        ),
        FormatDescriptor(
            .jpegXL,
            mediaTypes: ["image/jxl"],
            fileExtensions: ["jxl"],
            isLossy: true,
            isDecodableInParts: true,
            readHeader: JPEGXLHeader.read
        ) { $0.matches([0xFF, 0x0A], at: 0) || $0.matches([0, 0, 0, 0x0C], at: 0) && $0.matches("JXL ", at: 4) },
        FormatDescriptor(.icns, mediaTypes: ["image/x-icns"], fileExtensions: ["icns"]) { $0.matches("icns", at: 0) },
        FormatDescriptor(.xpm, mediaTypes: ["image/x-xpixmap"], fileExtensions: ["xpm"]) {
            $0.matches("/* XPM */", at: 0)
        },
        FormatDescriptor(
            .avif,
            mediaTypes: ["image/avif", "image/avif-sequence"],
            fileExtensions: ["avif", "avifs"],
            isLossy: true,
            readHeader: BoxHeader.readAVIF
        ) { formatOfBoxes($0) == .avif },
        FormatDescriptor(
            .heif,
            mediaTypes: ["image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence"],
            fileExtensions: ["heic", "heif", "heics"],
            isLossy: true,
            readHeader: BoxHeader.readHEIF
        ) { formatOfBoxes($0) == .heif },
        FormatDescriptor(.pdf, mediaTypes: ["application/pdf"], fileExtensions: ["pdf"]) { $0.matches("%PDF-", at: 0) },
        FormatDescriptor(
            .svg,
            mediaTypes: ["image/svg+xml", "image/svg"],
            fileExtensions: ["svg", "svgz"],
            isSignature: isSVG
        ),
    ]

    fileprivate static let byFormat = Dictionary(uniqueKeysWithValues: all.map { ($0.format, $0) })
}

extension ImageFormat {
    /// The number of leading bytes that identifies every format with partial images.
    package static let sniffLength = 512
    /// The number of leading bytes that identifies every format. Drawing programs write licenses and entities of a few kilobytes
    /// before the root element of an SVG.
    package static let longestSniffLength = 8192

    /// Recognizes a format by the first bytes of a file. Unknown and too few bytes make `unknown`.
    public init(sniffing data: Data) {
        self = data.prefix(Self.longestSniffLength).withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            return FormatDescriptor.all.first { $0.isSignature(bytes) }?.format ?? .unknown
        }
    }

    /// Recognizes a format by the first bytes of a file; `hint` is the result for files without a signature.
    package init(sniffing data: Data, hint: ImageFormat?) {
        let found = ImageFormat(sniffing: data)
        self = found == .unknown ? hint ?? .unknown : found
    }

    /// The usual media type, as registered with IANA for most formats; `nil` for formats of custom coders.
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

    /// The row of the format; `nil` for formats of custom coders.
    package var descriptor: FormatDescriptor? { FormatDescriptor.byFormat[self] }
}

// Signatures longer than a few bytes.
extension FormatDescriptor {
    /// BM, or BA for a bitmap array of OS/2, before a header of known size. The reserved bytes at offset 6 are 0, except in
    /// pointers of OS/2, which store their hot spot there.
    @Sendable private static func isBMP(_ bytes: ByteReader) -> Bool {
        if bytes.matches("BM", at: 0), bytes.matches([0, 0, 0, 0], at: 6) { return true }
        let start = bytes.matches("BA", at: 0) && bytes.matches("BM", at: 14) ? 14 : 0
        guard start > 0 || bytes.matches("BM", at: 0), let size = bytes.uint32LE(start + 14) else { return false }
        return [12, 16, 40, 52, 56, 64, 108, 124].contains(size)
    }

    /// An icon, or a cursor whose first image follows the directory: simple TGA files begin like a cursor.
    @Sendable private static func isIcon(_ bytes: ByteReader) -> Bool {
        guard let count = bytes.uint16LE(4), count > 0 else { return false }
        if bytes.matches([0, 0, 1, 0], at: 0) { return true }
        guard bytes.matches([0, 0, 2, 0], at: 0), let offset = bytes.uint32LE(18) else { return false }
        return Int(offset) >= 6 + Int(count) * 16
    }

    /// The format named by the brands of an ISO base media file (ISO/IEC 23008-12 for HEIF, AV1 Image File Format for AVIF).
    private static func formatOfBoxes(_ bytes: ByteReader) -> ImageFormat? {
        guard bytes.matches("ftyp", at: 4) else { return nil }
        let end = min(Int(bytes.uint32BE(0) ?? 0), bytes.count)
        // The major brand, and the compatible brands after its version. AVIF requires only a compatible brand (section 6.2).
        for offset in [8] + stride(from: 16, to: end, by: 4)
        where bytes.matches("avif", at: offset) || bytes.matches("avis", at: offset) { return .avif }
        let brands: [StaticString] = ["heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"]
        return brands.contains { bytes.matches($0, at: 8) } ? .heif : nil
    }

    /// Finds the root element of an SVG, with any namespace prefix, after the byte order mark, declarations, comments and document
    /// type. Files that begin like gzip (.svgz) also count, since no other image format does.
    @Sendable private static func isSVG(_ bytes: ByteReader) -> Bool {
        if bytes.matches([0x1F, 0x8B, 8], at: 0) { return true }
        if bytes.matches([0xFE, 0xFF], at: 0) || bytes.matches([0xFF, 0xFE], at: 0) {
            // In UTF-16, every other byte is an ASCII character.
            let start = bytes.matches([0xFE, 0xFF], at: 0) ? 3 : 2
            return stride(from: start, to: bytes.count, by: 2).map { bytes.bytes[$0] }
                .withUnsafeBytes { isSVG(ByteReader($0)) }
        }
        var offset = bytes.matches([0xEF, 0xBB, 0xBF], at: 0) ? 3 : 0
        func skip(_ length: Int, past end: StaticString) {
            let found = (offset + length..<max(offset + length, bytes.count)).first { bytes.matches(end, at: $0) }
            offset = found.map { $0 + end.utf8CodeUnitCount } ?? bytes.count
        }
        var (isInType, isInSubset) = (false, false)
        while let byte = bytes.uint8(offset) {
            if bytes.matches("<!--", at: offset) {
                skip(4, past: "-->")
            } else if bytes.matches("<?", at: offset) {
                skip(2, past: "?>")
            } else if isInType, byte == UInt8(ascii: "\"") {
                skip(1, past: "\"")
            } else if isInType, byte == UInt8(ascii: "'") {
                skip(1, past: "'")
            } else if bytes.matches("<!DOCTYPE", at: offset) || isInType || isSpace(byte) {
                if byte == UInt8(ascii: "[") { isInSubset = true }
                if byte == UInt8(ascii: "]") { isInSubset = false }
                isInType = byte == UInt8(ascii: "<") || isInType && (isInSubset || byte != UInt8(ascii: ">"))
                offset += 1
            } else {
                let name = bytes.bytes[(offset + 1)...].prefix { !isSpace($0) && !">/".utf8.contains($0) }
                return byte == UInt8(ascii: "<")
                    && name.split(separator: UInt8(ascii: ":")).last?.elementsEqual("svg".utf8) == true
            }
        }
        return false
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
