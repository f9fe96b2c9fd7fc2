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
///
/// On many systems gdk-pixbuf decodes in another process (glycin), which takes some milliseconds more and shows no parts. An
/// image that takes more than 30 seconds there fails with ``ImageError/Code/timedOut``, and all of them fail with
/// ``ImageError/Code/decoderUnavailable`` where the process cannot start. Its pixels are always in sRGB.
public struct PixbufCoder: ImageDecoding {
    /// A loader of gdk-pixbuf.
    struct Loader {
        /// With it, gdk-pixbuf need not sniff.
        let mediaType: String
        /// Whether it decodes in another process.
        let isElsewhere: Bool
    }

    /// The loader of each format for which one is installed.
    private let loaders: [ImageFormat: Loader]
    private let timeLimit: Duration

    /// Makes a decoder and looks up which loaders are installed.
    public init() { self.init(timeLimit: .seconds(30)) }

    /// - Parameter timeLimit: The time after which decoding in another process is given up.
    package init(timeLimit: Duration) {
        self.timeLimit = timeLimit
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
        var loaders: [ImageFormat: Loader] = [:]
        for descriptor in FormatDescriptor.all {
            guard let mediaType = descriptor.mediaTypes.first(where: { available.contains($0) }) else { continue }
            loaders[descriptor.format] = Loader(
                mediaType: mediaType,
                isElsewhere: gwi_pixbuf_decodes_elsewhere(mediaType)
            )
        }
        self.loaders = loaders
    }

    /// Whether a loader of the format is installed.
    public func canDecode(_ format: ImageFormat) -> Bool { loaders[format] != nil }

    /// Whether the loader of the format decodes in another process.
    package func decodesElsewhere(_ format: ImageFormat) -> Bool { loaders[format]?.isElsewhere == true }

    /// Decodes a whole file.
    public func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, options: options) { false }
    }

    /// Starts to decode a file that is still arriving. Most loaders show nothing before its end.
    public func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        // The loader of GIF takes quadratic time when it is fed in pieces, and those elsewhere wait for the end.
        guard format != .gif, let loader = loaders[format], !loader.isElsewhere else { return nil }
        return try? PixbufIncrementalDecoder(format, loader: loader, options, isIncremental: true)
    }
}

extension PixbufCoder: CancellableImageDecoding {
    package func decode(
        _ data: Data,
        options: DecodeOptions,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        let format = ImageFormat(sniffing: data, hint: options.formatHint)
        let loader = loaders[format] ?? Loader(mediaType: "", isElsewhere: false)
        let work = { @Sendable () throws(ImageError) -> WebImage in
            let session = try PixbufIncrementalDecoder(format, loader: loader, options, isIncremental: false)
            try session.append(data)
            return try session.finish(data)
        }
        guard loader.isElsewhere else { return try work() }
        let wait = LoaderProcessWait(format: format, limit: timeLimit, options: options)
        return try wait.run(until: isCancelled, work)
    }
}
