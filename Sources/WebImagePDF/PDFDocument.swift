internal import CWebImageGLib
import FoundationEssentials
import WebImageCore
import WebImageFormats
import WebImageLinux

/// A PDF that poppler has opened. Its bytes must stay at their address.
struct PDFDocument: ~Copyable {
    /// The longest side that cairo can draw.
    private static let longestSide = 32_767

    private let poppler: PopplerLibrary
    private let options: DecodeOptions
    private let document: UnsafeMutableRawPointer
    private let bytes: OpaquePointer

    init(_ reader: ByteReader, poppler: PopplerLibrary, _ options: DecodeOptions) throws(ImageError) {
        let bytes = g_bytes_new_static(reader.bytes.baseAddress, gsize(reader.count))!
        var failure: UnsafeMutablePointer<GError>?
        guard let document = poppler.makeDocument(bytes, nil, &failure) else {
            let message = failure.map { String(cString: $0.pointee.message) } ?? "it is damaged"
            g_clear_error(&failure)
            g_bytes_unref(bytes)
            throw options.badData("poppler does not open the PDF: \(message)")
        }
        (self.poppler, self.options, self.document, self.bytes) = (poppler, options, document, bytes)
    }

    deinit {
        g_object_unref(document)
        g_bytes_unref(bytes)
    }

    /// A page at the size of the options.
    /// - Parameter number: The number of the page, from 1.
    func image(ofPage number: Int) throws(ImageError) -> WebImage {
        let count = Int(poppler.countPages(document))
        guard number <= count, let page = poppler.page(document, Int32(number - 1)) else {
            throw options.badData("The PDF has \(max(count, 0)) pages, and number \(number) was asked for")
        }
        defer { g_object_unref(page) }
        var (width, height) = (0.0, 0.0)
        poppler.pageSize(page, &width, &height)
        guard width.isFinite, height.isFinite, width > 0, height > 0 else {
            throw options.badData("The page has no size")
        }
        let natural = PixelSize(
            width: Int(bounded: (width * 96 / 72).rounded(.up)),
            height: Int(bounded: (height * 96 / 72).rounded(.up))
        )
        try options.checkLimits(natural)
        let scalable = options.scalableSize(natural)
        let target = options.size.target(for: scalable ?? natural)
        try options.checkLimits(target)
        guard max(target.width, target.height) <= Self.longestSide else { throw options.outOfMemory(target) }
        try options.checkReservation(target.pixelCount)
        let pixels = try draw(
            page,
            target,
            scale: (Double(target.width) / width, Double(target.height) / height)
        )
        let image = WebImage(pixels: pixels, naturalSize: natural, format: .pdf, .up, options)
        // A larger widget decodes the page again at its size.
        return scalable.map { size in image.with { $0.sourceSize = size } } ?? image
    }

    private func draw(
        _ page: UnsafeMutableRawPointer,
        _ size: PixelSize,
        scale: (x: Double, y: Double)
    ) throws(ImageError) -> PixelBuffer {
        var isDrawn = false
        let drawn = PixelBuffer(size: size, format: .rgbaPremultiplied) { memory in
            // The page has a white background.
            memory.initializeMemory(as: UInt8.self, repeating: 255)
            isDrawn = draw(page, on: memory, size, scale: scale)
        }
        guard let drawn else { throw options.outOfMemory(size) }
        guard isDrawn else { throw options.badData("poppler cannot draw the page") }
        // cairo stores blue in the lowest byte of a pixel, and no alpha.
        let pixels = PixelBuffer(size: size, format: .rgb) { memory in
            drawn.withUnsafeBytes { drawn in
                let words = drawn.bindMemory(to: UInt32.self)
                for index in words.indices {
                    let word = words[index]
                    memory[index * 3] = UInt8(truncatingIfNeeded: word >> 16)
                    memory[index * 3 + 1] = UInt8(truncatingIfNeeded: word >> 8)
                    memory[index * 3 + 2] = UInt8(truncatingIfNeeded: word)
                }
            }
        }
        guard let pixels else { throw options.outOfMemory(size) }
        return pixels
    }

    private func draw(
        _ page: UnsafeMutableRawPointer,
        on memory: UnsafeMutableRawBufferPointer,
        _ size: PixelSize,
        scale: (x: Double, y: Double)
    ) -> Bool {
        // CAIRO_FORMAT_RGB24 has four bytes a pixel.
        let (format, start): (Int32, _) = (1, memory.baseAddress!.assumingMemoryBound(to: UInt8.self))
        guard
            let surface = poppler.makeSurface(
                start,
                format,
                Int32(size.width),
                Int32(size.height),
                Int32(size.width * 4)
            )
        else { return false }
        defer { poppler.freeSurface(surface) }
        guard poppler.surfaceStatus(surface) == 0, let context = poppler.makeContext(surface) else { return false }
        poppler.scale(context, scale.x, scale.y)
        poppler.render(page, context)
        // A drawing fails if out of memory, or with numbers that cairo cannot handle.
        let isDrawn = poppler.contextStatus(context) == 0
        poppler.freeContext(context)
        poppler.finish(surface)
        return isDrawn
    }
}
