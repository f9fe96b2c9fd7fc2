internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// One file on its way through a GdkPixbufLoader.
///
/// `@unchecked`: a decoder is used by one thread at a time, and a loader does not mind which.
final class PixbufIncrementalDecoder: IncrementalImageDecoding, @unchecked Sendable {
    private let format: ImageFormat
    private let options: DecodeOptions
    private let loader: UnsafeMutablePointer<GdkPixbufLoader>
    private var isClosed = false
    /// The beginning of the file, until its header was read.
    private var head = Data()
    private var header: ImageHeader?
    /// Why the loader was told to stop.
    private var refusal: ImageError?
    /// The size of the file as stored, from the loader.
    private var storedSize: PixelSize?
    /// Rows that the loader has written at least once.
    private var rowCount = 0
    private var hasNews = false
    private var knownProfile: Data?

    init(
        _ format: ImageFormat,
        mediaType: String,
        _ options: DecodeOptions,
        isIncremental: Bool
    ) throws(ImageError) {
        self.format = format
        self.options = options
        var failure: UnsafeMutablePointer<GError>?
        guard let loader = gdk_pixbuf_loader_new_with_mime_type(mediaType, &failure) else {
            throw options.badData(takeMessage(&failure))
        }
        self.loader = loader
        let context = Unmanaged.passUnretained(self).toOpaque()
        let prepared: @convention(c) (OpaquePointer, Int32, Int32, UnsafeMutableRawPointer) -> Void = {
            Unmanaged<PixbufIncrementalDecoder>.fromOpaque($3).takeUnretainedValue()
                .prepare(PixelSize(width: Int($1), height: Int($2)))
        }
        connect("size-prepared", unsafeBitCast(prepared, to: GCallback.self), context)
        if isIncremental {
            let updated: @convention(c) (OpaquePointer, Int32, Int32, Int32, Int32, UnsafeMutableRawPointer) -> Void = {
                Unmanaged<PixbufIncrementalDecoder>.fromOpaque($5).takeUnretainedValue().update(rows: Int($2 + $4))
            }
            connect("area-updated", unsafeBitCast(updated, to: GCallback.self), context)
        }
    }

    deinit {
        // A loader that is not closed complains when it is freed.
        if !isClosed { gdk_pixbuf_loader_close(loader, nil) }
        g_object_unref(loader)
    }

    func append(_ data: Data) throws(ImageError) {
        if header == nil {
            head.append(data)
            try checkClaims()
            header = ImageHeader(reading: head)
            if let header {
                head = Data()
                // Before the loader sees the size: it would take memory for a bomb.
                try options.check(header.size)
            }
        }
        var failure: UnsafeMutablePointer<GError>?
        let isWritten = data.withUnsafeBytes { bytes in
            gdk_pixbuf_loader_write(loader, bytes.bindMemory(to: UInt8.self).baseAddress, gsize(bytes.count), &failure)
                != 0
        }
        let message = takeMessage(&failure)
        if let refusal { throw refusal }
        guard isWritten else { throw options.badData(message) }
    }

    /// The BMP loader takes memory for all that a file says comes before its pixels, however small the file is.
    private func checkClaims() throws(ImageError) {
        guard format == .bmp else { return }
        let (offset, headerSize, colors) = head.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            return (bytes.uint32LE(10) ?? 0, bytes.uint32LE(14) ?? 0, bytes.uint32LE(46) ?? 0)
        }
        // Headers are 138 bytes at most, colours 1024; programs put a profile or nothing at all between.
        guard offset <= max(head.count, 1 << 16), headerSize <= 1 << 10, headerSize == 12 || colors <= 1 << 16 else {
            throw options.badData("The BMP's header makes no sense: its pixels cannot begin where it says")
        }
    }

    func partialImage() -> WebImage? {
        guard hasNews, let pixbuf = gdk_pixbuf_loader_get_pixbuf(loader) else { return nil }
        hasNews = false
        let rows = pixelRows(pixbuf)
        let pixels =
            rowCount < rows.size.height
            ? PixelBuffer(top: rowCount, of: rows, orientation: orientation)
            : PixelBuffer(rows, orientation: orientation)
        return pixels.map { makeImage($0, isPartial: true) }
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        isClosed = true
        var failure: UnsafeMutablePointer<GError>?
        let isSound = gdk_pixbuf_loader_close(loader, &failure) != 0
        let message = takeMessage(&failure)
        if let refusal { throw refusal }
        guard isSound else { throw options.badData(message) }
        guard let pixbuf = gdk_pixbuf_loader_get_pixbuf(loader) else {
            throw options.badData("The file ends before its pixels begin")
        }
        try checkEnd(data)
        let decoded = PixelSize(
            width: Int(gdk_pixbuf_get_width(pixbuf)),
            height: Int(gdk_pixbuf_get_height(pixbuf))
        )
        try options.check(decoded)
        let target = orientation.apply(to: options.size.target(for: orientation.apply(to: storedSize ?? decoded)))
        let rows = pixelRows(pixbuf, isPremultiplied: format == .tiff)
        if let pixels = adopted(pixbuf, rows, target) { return makeImage(pixels, isPartial: false) }
        guard let pixels = rows.resized(to: target, orientation: orientation) else {
            throw options.outOfMemory(target)
        }
        return makeImage(pixels, isPartial: false)
    }

    /// The pixels where they are, when they lie as they are to be.
    private func adopted(_ pixbuf: OpaquePointer, _ rows: PixelRows, _ target: PixelSize) -> PixelBuffer? {
        guard rows.layout == .rgb, orientation == .up, target == rows.size, rows.bytesPerRow == target.width * 3,
            let pixels = gdk_pixbuf_get_pixels(pixbuf)
        else { return nil }
        let keeper = GObjectKeeper(pixbuf)
        return PixelBuffer(adopting: pixels, size: target, format: .rgb) { withExtendedLifetime(keeper) {} }
    }

    /// How the pixels that the loader gives have to be turned.
    private var orientation: ImageOrientation {
        let orientation = header?.orientation ?? .up
        guard format == .tiff else { return orientation }
        // libtiff mirrors what has to be mirrored, and takes 5 to 8 for 1 to 4; the rest is left to do (io-tiff.c).
        return switch orientation {
        case .leftMirrored, .rightMirrored: .leftMirrored
        case .right, .left: .rightMirrored
        default: .up
        }
    }

    /// The loader knows the size and is about to take memory for it.
    private func prepare(_ size: PixelSize) {
        storedSize = size
        do {
            try options.check(size)
        } catch {
            refusal = error
            // An empty size makes the loader give up.
            gdk_pixbuf_loader_set_size(loader, 0, 0)
            return
        }
        let target = orientation.apply(to: options.size.target(for: orientation.apply(to: size)))
        // Any other loader would scale decoded pixels, which the area scaler does better.
        guard format == .svg, target != size else { return }
        gdk_pixbuf_loader_set_size(loader, Int32(target.width), Int32(target.height))
    }

    private func update(rows: Int) {
        rowCount = max(rowCount, rows)
        hasNews = true
    }

    /// The PNG loader reports nothing when the end of a file is missing.
    private func checkEnd(_ data: Data) throws(ImageError) {
        guard format == .png, !data.withUnsafeBytes({ PNGHeader.isComplete(ByteReader($0)) }) else { return }
        throw options.badData("The PNG ends before its end marker: it is truncated")
    }

    private func makeImage(_ pixels: PixelBuffer, isPartial: Bool) -> WebImage {
        var image = WebImage(
            pixels: pixels,
            naturalSize: orientation.apply(to: storedSize ?? pixels.size),
            format: format,
            orientation,
            options
        )
        if isPartial { image = image.with { $0.isPartial = true } }
        return image.converted(from: options.convertsToSRGB ? profile : nil)
    }

    /// The colour profile, which the loader hands out once it has read the header.
    private var profile: Data? {
        if let known = knownProfile { return known }
        guard let pixbuf = gdk_pixbuf_loader_get_pixbuf(loader),
            let text = gdk_pixbuf_get_option(pixbuf, "icc-profile")
        else { return nil }
        knownProfile = Data(base64Encoded: String(cString: text))
        return knownProfile
    }

    private func connect(_ signal: String, _ callback: GCallback, _ context: UnsafeMutableRawPointer) {
        g_signal_connect_data(loader, signal, callback, context, nil, GConnectFlags(rawValue: 0))
    }
}

/// Keeps a pixbuf alive.
///
/// `@unchecked`: references are counted atomically (gobject.c), and nobody writes to the pixels.
private final class GObjectKeeper: @unchecked Sendable {
    private let object: UnsafeMutableRawPointer

    init(_ pixbuf: OpaquePointer) {
        object = g_object_ref(UnsafeMutableRawPointer(pixbuf))
    }

    deinit {
        g_object_unref(object)
    }
}

/// The pixels of a pixbuf, valid as long as it is.
/// - Parameter isPremultiplied: Whether alpha is multiplied in, as libtiff leaves it.
private func pixelRows(_ pixbuf: OpaquePointer, isPremultiplied: Bool = false) -> PixelRows {
    let hasAlpha = gdk_pixbuf_get_has_alpha(pixbuf) != 0
    return PixelRows(
        start: gdk_pixbuf_read_pixels(pixbuf),
        size: PixelSize(width: Int(gdk_pixbuf_get_width(pixbuf)), height: Int(gdk_pixbuf_get_height(pixbuf))),
        bytesPerRow: Int(gdk_pixbuf_get_rowstride(pixbuf)),
        layout: hasAlpha ? (isPremultiplied ? .premultiplied : .rgba) : .rgb
    )
}

/// The message of an error, which is freed.
private func takeMessage(_ failure: inout UnsafeMutablePointer<GError>?) -> String {
    defer { g_clear_error(&failure) }
    return failure.map { String(cString: $0.pointee.message) } ?? "The file is not a sound image"
}
