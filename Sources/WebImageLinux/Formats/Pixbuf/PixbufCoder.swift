internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageShims
package import FoundationEssentials
package import WebImageCore

/// Decodes with gdk-pixbuf every format for which a loader is installed, such as TIFF, BMP, ICO, SVG and AVIF.
package struct PixbufCoder: ImageDecoding {
    /// The media type of each format for which a loader is installed. With it, gdk-pixbuf need not sniff.
    private let mediaTypes: [ImageFormat: String]

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
        var mediaTypes: [ImageFormat: String] = [:]
        for descriptor in FormatDescriptor.all {
            mediaTypes[descriptor.format] = descriptor.mediaTypes.first { available.contains($0) }
        }
        self.mediaTypes = mediaTypes
    }

    package func canDecode(_ format: ImageFormat) -> Bool { mediaTypes[format] != nil }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        let format = ImageFormat(sniffing: data, hint: options.formatHint)
        let session = try PixbufIncrementalDecoder(
            format,
            mediaType: mediaTypes[format] ?? "",
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
        // The other loaders show nothing until the end, or take quadratic time when they are fed in pieces, as that of
        // GIF does.
        guard format == .png, let mediaType = mediaTypes[format] else { return nil }
        return try? PixbufIncrementalDecoder(format, mediaType: mediaType, options, isIncremental: true)
    }
}
