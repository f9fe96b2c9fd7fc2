extension ImageFormat {
    /// A format under the names that others have for it.
    private static let names: [(format: ImageFormat, mediaTypes: [String], extensions: [String])] = [
        (.jpeg, ["image/jpeg", "image/jpg", "image/pjpeg"], ["jpg", "jpeg", "jpe", "jfif"]),
        (.png, ["image/png", "image/apng", "image/x-png"], ["png", "apng"]),
        (.gif, ["image/gif"], ["gif"]),
        (.webp, ["image/webp"], ["webp"]),
        (.tiff, ["image/tiff"], ["tiff", "tif"]),
        (.bmp, ["image/bmp", "image/x-bmp", "image/x-ms-bmp"], ["bmp", "dib"]),
        (.ico, ["image/vnd.microsoft.icon", "image/x-icon"], ["ico"]),
        (
            .heif, ["image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence"],
            ["heic", "heif", "heics"]
        ),
        (.avif, ["image/avif", "image/avif-sequence"], ["avif", "avifs"]),
        (.svg, ["image/svg+xml", "image/svg"], ["svg", "svgz"]),
        (.jpegXL, ["image/jxl"], ["jxl"]),
        (
            .pnm,
            [
                "image/x-portable-anymap", "image/x-portable-pixmap", "image/x-portable-graymap",
                "image/x-portable-bitmap",
            ], ["pnm", "ppm", "pgm", "pbm"]
        ),
        (.tga, ["image/x-tga"], ["tga"]),
        (.icns, ["image/x-icns"], ["icns"]),
        (.xpm, ["image/x-xpixmap"], ["xpm"]),
        (.ani, ["application/x-navi-animation"], ["ani"]),
        (.pdf, ["application/pdf"], ["pdf"]),
    ]

    /// The media type, as registered with IANA; nil for formats of custom coders.
    public var mediaType: String? { Self.names.first { $0.format == self }?.mediaTypes.first }

    /// The usual extension of a file's name, without a dot; nil for formats of custom coders.
    public var fileExtension: String? { Self.names.first { $0.format == self }?.extensions.first }

    /// The format of a media type, whose parameters do not count: image/png; charset=binary.
    /// - Returns: nil for a type that the library does not know. What a file is, its content says, not this.
    public init?(mediaType: String) {
        let name = mediaType.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
        guard let found = Self.names.first(where: { $0.mediaTypes.contains(name) }) else { return nil }
        self = found.format
    }

    /// The format of an extension, without a dot.
    public init?(fileExtension: String) {
        let name = fileExtension.lowercased()
        guard let found = Self.names.first(where: { $0.extensions.contains(name) }) else { return nil }
        self = found.format
    }
}
