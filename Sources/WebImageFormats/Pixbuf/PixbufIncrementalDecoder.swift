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
    /// The error with which the loader was stopped.
    private var refusal: ImageError?
    /// The error of an earlier piece. A loader that has failed is closed and takes nothing more.
    private var failure: ImageError?
    /// The stored size, as the loader reports it.
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
        // A loader that is freed without being closed logs a warning. One that decodes elsewhere does so when it is closed,
        // which is why it lives on the thread of LoaderWait only.
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
                // The check comes before the loader sees the size and allocates memory for it.
                try options.check(header.size)
                // Partial images have the memory that the header asked for.
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

    /// Rejects a BMP whose header claims impossible sizes: the loader would allocate memory for them, however small the
    /// file is.
    private func checkClaims() throws(ImageError) {
        guard format == .bmp else { return }
        let (offset, headerSize, colors) = head.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            return (bytes.uint32LE(10) ?? 0, bytes.uint32LE(14) ?? 0, bytes.uint32LE(46) ?? 0)
        }
        // Headers have 138 bytes at most and palettes 1024; a profile can lie between them and the pixels.
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

    /// The loader's own pixels without a copy, when they have the wanted size and layout.
    private func adopted(_ pixbuf: OpaquePointer, _ rows: PixelRows, _ target: PixelSize) -> PixelBuffer? {
        guard rows.layout == .rgb, orientation == .up, target == rows.size, rows.bytesPerRow == target.width * 3,
            let pixels = gdk_pixbuf_get_pixels(pixbuf)
        else { return nil }
        let address = UInt(bitPattern: g_object_ref(UnsafeMutableRawPointer(pixbuf)))
        return PixelBuffer(adopting: pixels, size: target, format: .rgb) {
            g_object_unref(UnsafeMutableRawPointer(bitPattern: address))
        }
    }

    /// The orientation of the loader's pixels, which differs from that of the file where the loader turns them.
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

    /// The mirroring that libtiff applies to an orientation, which also undoes it.
    private func mirroring(_ orientation: ImageOrientation) -> ImageOrientation {
        switch orientation {
        case .upMirrored, .right: .upMirrored
        case .down, .rightMirrored: .down
        case .downMirrored, .left: .downMirrored
        case .up, .leftMirrored: .up
        }
    }

    /// The size of the loader's pixels that the options ask for.
    private func target(for size: PixelSize) -> PixelSize {
        let upright = orientation.apply(to: size)
        return orientation.apply(to: options.size.target(for: scalableSize(upright) ?? upright))
    }

    /// What counts as the size of a drawing that is to fit a box.
    private func scalableSize(_ size: PixelSize) -> PixelSize? { format == .svg ? options.scalableSize(size) : nil }

    /// Handles the loader's size-prepared signal, before it allocates memory for the pixels.
    private func prepare(_ size: PixelSize) {
        storedSize = size
        var target = size
        do {
            try options.checkLimits(size)
            target = self.target(for: size)
            // librsvg keeps the aspect ratio and leaves the rest of a box empty; the area scaler stretches what covers it.
            if case .stretch = options.size {
                target = DecodeSize.cover(target).target(for: scalableSize(size) ?? size)
            }
            // A drawing has only the pixels that are asked for.
            try options.checkReservation((format == .svg ? target : size).pixelCount)
        } catch {
            refusal = error
            // An empty size makes the loader stop.
            gdk_pixbuf_loader_set_size(loader, 0, 0)
            return
        }
        // Any other loader would scale decoded pixels, which the area scaler does better.
        guard format == .svg, target != size else { return }
        gdk_pixbuf_loader_set_size(loader, Int32(target.width), Int32(target.height))
    }

    private func update(rows: Int) {
        rowCount = max(rowCount, rows)
        hasNews = true
    }

    /// The loader of PNG reports nothing when the end of a file is missing.
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
        // A larger widget has it decoded anew.
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

/// The pixels of a pixbuf, valid as long as it is.
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

/// Returns the message of an error and frees it.
private func takeMessage(_ failure: inout UnsafeMutablePointer<GError>?) -> String {
    defer { g_clear_error(&failure) }
    return failure.map { String(cString: $0.pointee.message) } ?? "The file is not a sound image"
}
