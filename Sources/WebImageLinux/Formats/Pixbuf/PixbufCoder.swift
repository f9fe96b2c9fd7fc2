internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageShims
package import FoundationEssentials
package import WebImageCore

/// Decodes with gdk-pixbuf: JPEG, PNG, GIF, TIFF, BMP, ICO, and whatever loaders are installed, such as those for SVG
/// and AVIF.
package struct PixbufCoder: ImageDecoding {
    /// The media types by which gdk-pixbuf is asked for a loader; with them it need not sniff.
    private static let mediaTypes: [ImageFormat: String] = [
        .jpeg: "image/jpeg", .png: "image/png", .gif: "image/gif", .tiff: "image/tiff", .bmp: "image/bmp",
        .ico: "image/x-icon", .svg: "image/svg+xml", .avif: "image/avif", .heif: "image/heif", .jpegXL: "image/jxl",
        .pnm: "image/x-portable-anymap", .tga: "image/x-tga", .icns: "image/x-icns", .xpm: "image/x-xpixmap",
        .ani: "application/x-navi-animation",
    ]

    private let installed: Set<ImageFormat>

    /// Looks up which loaders are installed.
    package init() {
        var available: Set<String> = []
        var list = gdk_pixbuf_get_formats()
        let first = list
        while let node = list {
            let format = OpaquePointer(node.pointee.data)
            if gdk_pixbuf_format_is_disabled(format) == 0, let types = gdk_pixbuf_format_get_mime_types(format) {
                var type = types
                while let name = type.pointee {
                    available.insert(String(cString: name))
                    type += 1
                }
                g_strfreev(types)
            }
            list = node.pointee.next
        }
        g_slist_free(first)
        installed = Set(Self.mediaTypes.filter { available.contains($0.value) }.keys)
    }

    package func canDecode(_ format: ImageFormat) -> Bool { installed.contains(format) }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        let format = ImageFormat(sniffing: data, hint: options.formatHint)
        let session = try PixbufIncrementalDecoder(
            format,
            mediaType: Self.mediaTypes[format] ?? "",
            options,
            isIncremental: false
        )
        try session.append(data)
        return try session.finish(data)
    }

    package func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        // The others show nothing until the end, or take quadratic time when fed in pieces, as GIF does.
        guard format == .jpeg || format == .png, let mediaType = Self.mediaTypes[format] else { return nil }
        return try? PixbufIncrementalDecoder(format, mediaType: mediaType, options, isIncremental: true)
    }
}
