internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageShims
public import FoundationEssentials
public import WebImageCore

/// Decodes with gdk-pixbuf every format for which a loader is installed.
///
/// Each manager has it as its last decoder, for formats such as SVG, AVIF and HEIC of which the library has no decoder. An
/// app that adds it to its manager's `coders` prefers gdk-pixbuf for all formats that it reads, whole and while they arrive.
/// Then animations are still images.
public struct PixbufCoder: ImageDecoding {
    /// The media type of each format for which a loader is installed. With it, gdk-pixbuf need not sniff.
    private let mediaTypes: [ImageFormat: String]

    /// Makes a decoder and looks up which loaders are installed.
    public init() {
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

    /// Whether a loader of the format is installed.
    public func canDecode(_ format: ImageFormat) -> Bool { mediaTypes[format] != nil }

    /// Decodes a whole file.
    public func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
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

    /// Starts to decode a file that is still arriving. Most loaders show nothing before its end.
    public func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        // The loader of GIF takes quadratic time when it is fed in pieces.
        guard format != .gif, let mediaType = mediaTypes[format] else { return nil }
        return try? PixbufIncrementalDecoder(format, mediaType: mediaType, options, isIncremental: true)
    }
}
