internal import CWebImageGLib
internal import CWebImagePixbuf
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// Decodes one file with a GdkPixbufLoader.
final class PixbufIncrementalDecoder: IncrementalImageDecoding {
    private let format: ImageFormat
    private var options: DecodeOptions
    private let isElsewhere: Bool
    private let isIncremental: Bool
    private let loader: UnsafeMutablePointer<GdkPixbufLoader>
    private var isClosed = false
    /// The beginning of the file, until its header is read.
    private var head = Data()
    private var header: ImageHeader?
    /// The error that stopped the loader.
    private var refusal: ImageError?
    /// The error of an earlier piece. A failed loader is closed and accepts no more bytes.
    private var failure: ImageError?
    /// The stored size that the loader reports.
    private var storedSize: PixelSize?
    /// The number of rows that the loader has written.
    private var rowCount = 0
    private var hasNews = false
    private var knownProfile: Data?

    init(
        _ format: ImageFormat,
        loader: InstalledLoaders.Loader,
        _ options: DecodeOptions,
        name: String,
        isIncremental: Bool
    ) throws(ImageError) {
        self.format = format
        self.options = options
        isElsewhere = loader.isElsewhere
        self.isIncremental = isIncremental
        var failure: UnsafeMutablePointer<GError>?
        guard let loader = gdk_pixbuf_loader_new_with_type(name, &failure) else {
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
        // Freeing an open loader logs a warning. A loader that uses another process decodes when it is closed, so it is used only
        // on the thread of LoaderWait.
        if !isClosed { gdk_pixbuf_loader_close(loader, nil) }
        g_object_unref(loader)
    }

    func append(_ data: Data) throws(ImageError) {
        if let failure { throw failure }
        do {
            try write(data)
        } catch {
            failure = error
            throw error
        }
    }

    private func write(_ data: Data) throws(ImageError) {
        if header == nil {
            head.append(data)
            try checkClaims()
            header = ImageHeader(reading: head, hint: options.formatHint)
            if let header {
                head = Data()
                // The size is checked before the loader sees it and allocates memory.
                try options.check(header.size)
                // The memory for partial images was reserved for this header.
                if isIncremental, options.budget != nil {
                    options.reservedPixelCount = header.storedSize.pixelCount
                }
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

    /// Rejects a BMP whose header claims impossible sizes, for which the loader would allocate memory.
    private func checkClaims() throws(ImageError) {
        guard format == .bmp else { return }
        let (offset, headerSize, colors) = head.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            return (bytes.uint32LE(10) ?? 0, bytes.uint32LE(14) ?? 0, bytes.uint32LE(46) ?? 0)
        }
        // Headers have at most 138 bytes and palettes 1024. A profile may lie between them and the pixels.
        guard offset <= max(head.count, 1 << 16), headerSize <= 1 << 10, headerSize == 12 || colors <= 1 << 16 else {
            throw options.badData("The BMP's header makes no sense: its pixels cannot begin where it says")
        }
    }

    func partialImage() -> WebImage? {
        guard hasNews, let pixbuf = gdk_pixbuf_loader_get_pixbuf(loader) else { return nil }
        hasNews = false
        let rows = pixelRows(pixbuf)
        return rows.resized(top: rowCount, to: target(for: storedSize ?? rows.size), orientation: orientation)
            .map { makeImage($0, isPartial: true) }
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        if let failure { throw failure }
        isClosed = true
        var failure: UnsafeMutablePointer<GError>?
        let isSound = gdk_pixbuf_loader_close(loader, &failure) != 0
        let message = takeMessage(&failure)
        if let refusal { throw refusal }
        guard isSound else {
            guard isElsewhere else { throw options.badData(message) }
            throw LoaderWait(format: format, isElsewhere: true, limit: .zero, options: options).error(message)
        }
        guard let pixbuf = gdk_pixbuf_loader_get_pixbuf(loader) else {
            throw options.badData("The file ends before its pixels begin")
        }
        try checkEnd(data)
        let decoded = PixelSize(
            width: Int(gdk_pixbuf_get_width(pixbuf)),
            height: Int(gdk_pixbuf_get_height(pixbuf))
        )
        try options.check(decoded)
        let target = target(for: storedSize ?? decoded)
        let rows = pixelRows(pixbuf, isPremultiplied: format == .tiff && !isElsewhere)
        if let pixels = adopted(pixbuf, rows, target) { return makeImage(pixels, isPartial: false) }
        guard let pixels = rows.resized(to: target, orientation: orientation) else {
            throw options.outOfMemory(target)
        }
        return makeImage(pixels, isPartial: false)
    }

    /// The loader's pixels without a copy; `nil` if their size or layout differs.
    private func adopted(_ pixbuf: OpaquePointer, _ rows: PixelRows, _ target: PixelSize) -> PixelBuffer? {
        guard rows.layout == .rgb, orientation == .up, target == rows.size, rows.bytesPerRow == target.width * 3,
            let pixels = gdk_pixbuf_get_pixels(pixbuf)
        else { return nil }
        let address = UInt(bitPattern: g_object_ref(UnsafeMutableRawPointer(pixbuf)))
        return PixelBuffer(adopting: pixels, size: target, format: .rgb) {
            g_object_unref(UnsafeMutableRawPointer(bitPattern: address))
        }
    }

    /// The orientation to apply to the loader's pixels. It differs from the file's if the loader turns them.
    private var orientation: ImageOrientation {
        let orientation = header?.orientation ?? .up
        guard format == .tiff, !isElsewhere else { return options.turn(orientation) }
        guard options.appliesOrientation else { return mirroring(orientation) }
        // In this process, libtiff applies the mirroring but not the quarter turn of orientations 5 to 8 (io-tiff.c).
        return switch orientation {
        case .leftMirrored, .rightMirrored: .leftMirrored
        case .right, .left: .rightMirrored
        default: .up
        }
    }

    /// The mirroring that libtiff applies for an orientation. Mirroring again undoes it.
    private func mirroring(_ orientation: ImageOrientation) -> ImageOrientation {
        switch orientation {
        case .upMirrored, .right: .upMirrored
        case .down, .rightMirrored: .down
        case .downMirrored, .left: .downMirrored
        case .up, .leftMirrored: .up
        }
    }

    /// The size of the loader's pixels for the options.
    private func target(for size: PixelSize) -> PixelSize {
        let upright = orientation.apply(to: size)
        return orientation.apply(to: options.size.target(for: scalableSize(upright) ?? upright))
    }

    /// The assumed natural size of a vector image that is fitted to a box.
    private func scalableSize(_ size: PixelSize) -> PixelSize? { format == .svg ? options.scalableSize(size) : nil }

    /// Handles the loader's size-prepared signal, which precedes the allocation of the pixels.
    private func prepare(_ size: PixelSize) {
        storedSize = size
        var target = size
        do {
            try options.checkLimits(size)
            target = self.target(for: size)
            // librsvg keeps the aspect ratio and would not fill the box. So it covers the box, and the area scaler stretches the
            // result.
            if case .stretch = options.size {
                target = DecodeSize.cover(target).target(for: scalableSize(size) ?? size)
            }
            // A vector image is drawn only at the requested size.
            try options.checkReservation((format == .svg ? target : size).pixelCount)
        } catch {
            refusal = error
            // An empty size stops the loader.
            gdk_pixbuf_loader_set_size(loader, 0, 0)
            return
        }
        // Other loaders would scale decoded pixels, which the area scaler does better.
        guard format == .svg, target != size else { return }
        gdk_pixbuf_loader_set_size(loader, Int32(target.width), Int32(target.height))
    }

    private func update(rows: Int) {
        rowCount = max(rowCount, rows)
        hasNews = true
    }

    /// The loader of PNG does not report a missing end of a file.
    private func checkEnd(_ data: Data) throws(ImageError) {
        guard format == .png, !data.withUnsafeBytes({ PNGHeader.isComplete(ByteReader($0)) }) else { return }
        throw options.badData("The \(format.name) ends before its pixels do: it is truncated")
    }

    private func makeImage(_ pixels: PixelBuffer, isPartial: Bool) -> WebImage {
        var image = WebImage(
            pixels: pixels,
            naturalSize: orientation.apply(to: storedSize ?? pixels.size),
            format: format,
            header?.orientation ?? .up,
            options
        )
        if isPartial { image = image.with { $0.isPartial = true } }
        // A larger widget decodes the image again at its size.
        if let size = scalableSize(image.naturalSize) { image = image.with { $0.sourceSize = size } }
        return image.converted(from: options.convertsToSRGB ? profile : nil, options)
    }

    /// The ICC profile, known once the loader has read the header.
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

/// The pixels of a pixbuf, valid while it exists.
/// - Parameter isPremultiplied: Whether alpha is premultiplied, as libtiff leaves it.
private func pixelRows(_ pixbuf: OpaquePointer, isPremultiplied: Bool = false) -> PixelRows {
    let hasAlpha = gdk_pixbuf_get_has_alpha(pixbuf) != 0
    return PixelRows(
        start: gdk_pixbuf_read_pixels(pixbuf),
        size: PixelSize(width: Int(gdk_pixbuf_get_width(pixbuf)), height: Int(gdk_pixbuf_get_height(pixbuf))),
        bytesPerRow: Int(gdk_pixbuf_get_rowstride(pixbuf)),
        layout: hasAlpha ? (isPremultiplied ? .premultiplied : .rgba) : .rgb
    )
}

/// Returns the message of an error, and frees the error.
private func takeMessage(_ failure: inout UnsafeMutablePointer<GError>?) -> String {
    defer { g_clear_error(&failure) }
    return failure.map { String(cString: $0.pointee.message) } ?? "The file is not a sound image"
}
