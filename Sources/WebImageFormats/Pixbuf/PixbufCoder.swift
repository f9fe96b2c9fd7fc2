internal import CWebImageDeflate
internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageShims
public import FoundationEssentials
public import WebImageCore

/// Decodes with gdk-pixbuf every format for which a loader is installed: those named in ``/WebImageCore/ImageFormat``, and others
/// that their loaders recognize by the first bytes of a file. Such a format is named by its media type, as in
/// `ImageFormat(rawValue: "image/x-xcf")`.
///
/// Each manager has it as its last decoder, for formats such as SVG, AVIF and HEIC of which the library has no decoder. An
/// app that adds it to its manager's `coders` prefers gdk-pixbuf for all formats that it reads, whole and while they arrive.
/// Then animations are still images.
///
/// On many systems gdk-pixbuf decodes in another process (glycin), which takes some milliseconds more and shows no parts, and
/// all images fail with ``/WebImageCore/ImageError/Code/decoderUnavailable`` where the process cannot start.
/// Pixels from there are always in sRGB. An image that takes more than 30 seconds there, or 10 in this process if it is an SVG or
/// another format whose loader takes as long as the file wants, fails with ``/WebImageCore/ImageError/Code/timedOut``. So does, with
/// ``/WebImageCore/ImageError/Code/imageTooLarge``, an SVG of more than 16 MiB in the process of the app.
public struct PixbufCoder: ImageDecoding {
    /// The bytes of the largest SVG that is drawn in the process of the app, where nothing else bounds its memory.
    static let largestDrawing = 16 << 20

    private let timeLimit: Duration?
    /// Counts the calls that are left behind; `nil` for the count of the process. Tests have their own.
    var leftBehind: LoaderWait.CallsLeftBehind?

    /// Makes a decoder. Which loaders are installed is looked up when the first image is decoded.
    public init() { self.init(timeLimit: nil) }

    /// - Parameter timeLimit: The time after which slow decoding is given up.
    package init(timeLimit: Duration?) { self.timeLimit = timeLimit }

    private var loaders: InstalledLoaders { .all }

    /// Whether a loader of the format is installed.
    public func canDecode(_ format: ImageFormat) -> Bool { loaders.loader(of: format) != nil }

    /// Whether a loader of the format is installed, or one that recognizes the first bytes of a file of no known format.
    public func canDecode(_ head: Data, format: ImageFormat) -> Bool { installedFormat(head, as: format) != nil }

    /// Whether the loader of the format decodes in another process.
    package func decodesElsewhere(_ format: ImageFormat) -> Bool { loaders.loader(of: format)?.isElsewhere == true }

    /// Decodes a whole file.
    public func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try decode(data, options: options, holding: nil) { false }
    }

    /// Starts to decode a file that is still arriving. Most loaders show nothing before its end.
    public func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        // The loader of GIF takes quadratic time when it is fed in pieces. Slow loaders wait for the end of the file, and so does the
        // choice among several.
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
    /// The formats whose loaders take as long as the number of pixels lets them.
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
        if format == .svg, !loader.isElsewhere { try checkDrawing(data, options) }
        guard isSlow(format) else { return try work() }
        let wait = LoaderWait(
            format: format,
            isElsewhere: loader.isElsewhere,
            limit: timeLimit ?? .seconds(loader.isElsewhere ? 30 : 10),
            options: options,
            leftBehind: leftBehind
        )
        // Giving up a loader of this process does not end it.
        return try wait.run(holding: reservation, until: { loader.isElsewhere && isCancelled() }, work)
    }

    /// A file as glycin recognizes it by its first bytes: an AVIF with the major brand `avif`, which may be a compatible one only.
    private static func recognisable(_ data: Data, _ format: ImageFormat) -> Data {
        guard format == .avif, data.count > 12 else { return format == .svg ? compressed(data) : data }
        return data.prefix(8) + Data("avif".utf8) + data.dropFirst(12)
    }

    /// A compressed drawing, since glycin recognizes others by `<svg` alone, and ElementTree of Python writes `<ns0:svg`.
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

    private func checkDrawing(_ data: Data, _ options: DecodeOptions) throws(ImageError) {
        // A decode worker has a limit on its memory.
        guard data.count > Self.largestDrawing, !LoaderWait.isUnlimited else { return }
        let (count, limit) = Magnitude.bytes(data.count, exceeding: Self.largestDrawing)
        throw ImageError(
            .imageTooLarge,
            url: options.url,
            reason: "The SVG has \(count), more than the \(limit) that are drawn in the process of the app",
            remedy: "Decode in workers (decoding = .automatic), or use a smaller file."
        )
    }
}
