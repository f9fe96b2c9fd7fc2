internal import CWebImageDeflate
internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageShims
public import FoundationEssentials
public import WebImageCore

/// Decodes every format for which gdk-pixbuf has a loader: those named in ``/WebImageCore/ImageFormat``, and others that loaders
/// recognize by the first bytes of a file. These are named by their media types, as in `ImageFormat(rawValue: "image/x-xcf")`.
///
/// Each manager uses it as its last decoder, for formats without a decoder in the library, and those whose library is missing. If
/// you add it to the `coders` of a manager, gdk-pixbuf decodes all its formats, even while files arrive, and animations are still
/// images.
///
/// On many systems, gdk-pixbuf decodes in another process (glycin). This takes some milliseconds longer, shows no partial images,
/// always returns sRGB, and fails with ``/WebImageCore/ImageError/Code/decoderUnavailable`` if the process cannot start. An image
/// that takes more than 30 seconds there fails with ``/WebImageCore/ImageError/Code/timedOut``. In this process, the limit is 10
/// seconds, for SVG and other formats whose decoding time depends on the file, and an SVG above 16 MiB fails with
/// ``/WebImageCore/ImageError/Code/imageTooLarge``.
public struct PixbufCoder: ImageDecoding {
    private let timeLimit: Duration?
    /// Counts abandoned calls; `nil` for the count of the process. Tests use separate counts.
    var leftBehind: LoaderWait.CallsLeftBehind?

    /// Makes a decoder. The first image that is decoded looks up the installed loaders.
    public init() { self.init(timeLimit: nil) }

    /// - Parameter timeLimit: The time limit of slow decoding.
    package init(timeLimit: Duration?) { self.timeLimit = timeLimit }

    private var loaders: InstalledLoaders { .all }

    /// Whether a loader of the format is installed.
    public func canDecode(_ format: ImageFormat) -> Bool { loaders.loader(of: format) != nil }

    /// Whether a loader of the format is installed or, for an unknown format, a loader that recognizes the first bytes.
    public func canDecode(_ head: Data, format: ImageFormat) -> Bool { installedFormat(head, as: format) != nil }

    /// Whether the loader of the format decodes in another process.
    package func decodesElsewhere(_ format: ImageFormat) -> Bool { loaders.loader(of: format)?.isElsewhere == true }

    /// Decodes a whole file.
    public func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, options: options, holding: nil) { false }
    }

    /// Starts to decode an arriving file. Most loaders show nothing before its end.
    public func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        // The loader of GIF takes quadratic time for files in pieces. Slow loaders, and a choice among several, need the whole
        // file.
        guard format != .gif, let loader = loaders.loader(of: format), loader.names.count == 1, !isSlow(format) else {
            return nil
        }
        return try? PixbufIncrementalDecoder(
            format,
            loader: loader,
            options,
            name: loader.names[0],
            isIncremental: true
        )
    }
}

extension PixbufCoder: ExtendedDecoding {
    /// The formats whose decoding time is bounded by the number of pixels.
    private static let steady: Set<ImageFormat> = [
        .jpeg, .png, .gif, .webp, .tiff, .bmp, .ico, .avif, .heif, .jpegXL,
    ]

    package func isSlow(_ format: ImageFormat) -> Bool {
        decodesElsewhere(format) || !Self.steady.contains(format)
    }

    package func installedFormat(_ head: Data, as format: ImageFormat) -> ImageFormat? {
        if canDecode(format) { return format }
        return format == .unknown ? loaders.format(of: head) : nil
    }

    package func decode(
        _ data: Data,
        options: DecodeOptions,
        holding reservation: MemoryBudget.Reservation?,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        let recognised = ImageFormat(sniffing: data, hint: options.formatHint)
        guard let format = installedFormat(data.prefix(ImageFormat.sniffLength), as: recognised),
            let loader = loaders.loader(of: format)
        else { throw options.badData("No loader of gdk-pixbuf reads this file") }
        let work = { @Sendable () throws(ImageError) -> WebImage in
            var failure: ImageError?
            // libavif 0.11 reads neither sequences nor files without a pixi property, but libheif does.
            for name in loader.names {
                do throws(ImageError) {
                    let session = try PixbufIncrementalDecoder(
                        format,
                        loader: loader,
                        options,
                        name: name,
                        isIncremental: false
                    )
                    try session.append(loader.isElsewhere ? Self.recognisable(data, format) : data)
                    return try session.finish(data)
                } catch {
                    failure = failure ?? error
                    guard error.code == .badImageData else { break }
                }
            }
            throw failure ?? options.badData("No loader of gdk-pixbuf reads this file")
        }
        if format == .svg, !loader.isElsewhere { try options.checkDrawing(data) }
        guard isSlow(format) else { return try work() }
        let wait = LoaderWait(
            format: format,
            isElsewhere: loader.isElsewhere,
            limit: timeLimit ?? .seconds(loader.isElsewhere ? 30 : 10),
            options: options,
            leftBehind: leftBehind
        )
        // A loader in this process cannot be stopped, so cancelling does not end the wait.
        return try wait.run(holding: reservation, until: { loader.isElsewhere && isCancelled() }, work)
    }

    /// A file that glycin recognizes by its first bytes: an AVIF with `avif` as major brand, which is otherwise only a compatible
    /// brand.
    private static func recognisable(_ data: Data, _ format: ImageFormat) -> Data {
        guard format == .avif, data.count > 12 else { return format == .svg ? compressed(data) : data }
        return data.prefix(8) + Data("avif".utf8) + data.dropFirst(12)
    }

    /// A compressed SVG. glycin recognizes an uncompressed one only by `<svg`, but Python's ElementTree writes `<ns0:svg`.
    private static func compressed(_ data: Data) -> Data {
        guard !data.starts(with: [0x1F, 0x8B]), let compressor = libdeflate_alloc_compressor(1) else { return data }
        defer { libdeflate_free_compressor(compressor) }
        var file = Data(count: libdeflate_gzip_compress_bound(compressor, data.count))
        let count = file.withUnsafeMutableBytes { file in
            data.withUnsafeBytes {
                libdeflate_gzip_compress(compressor, $0.baseAddress, $0.count, file.baseAddress, file.count)
            }
        }
        return file.prefix(count)
    }
}
