import FoundationEssentials
import Glibc
import WebImageCore

/// Decodes a JPEG file while it arrives.
final class JPEGIncrementalDecoder: IncrementalImageDecoding {
    private let options: DecodeOptions
    private var reader: JPEGReader
    /// The beginning of the file, until its header is read.
    private var head = Data()
    private var header: ImageHeader?
    /// The pixels decoded so far, for an image of `size`.
    private var canvas: UnsafeMutablePointer<UInt8>?
    private var size = PixelSize(width: 0, height: 0)
    private var rowCount = 0
    private var shownRowCount = 0
    /// Whether rows that have not been decoded show the thumbnail.
    private var isFilled = false
    private var isWhole = false
    /// Whether libjpeg can read only the whole file, so that there are no partial images.
    private var needsWholeFile = false
    private var profile: Data?
    /// The thumbnails in the head of the file, until one is decoded.
    private var thumbnails: [EmbeddedThumbnail] = []
    private var thumbnail: JPEGThumbnail?

    init?(_ options: DecodeOptions) {
        guard let reader = JPEGReader(options) else { return nil }
        self.reader = reader
        self.options = options
    }

    deinit { free(canvas) }

    func append(_ data: Data) throws(ImageError) {
        guard !isWhole, !needsWholeFile else { return }
        try reader.append(data)
        if canvas == nil {
            head.append(data)
            try begin()
        }
        guard let canvas else { return }
        let decoded = try reader.decode(into: canvas, width: size.width)
        rowCount = max(rowCount, decoded.rows)
        isWhole = decoded.isDone
    }

    func partialImage() -> WebImage? {
        guard let header else { return nil }
        if let canvas, (try? reader.drawScans(into: canvas, width: size.width)) == true {
            // Each scan covers the whole image, the first ones coarsely.
            (rowCount, shownRowCount) = (size.height, 0)
        }
        let isNewThumbnail = decodeThumbnail(of: header)
        guard let canvas, rowCount > shownRowCount else {
            return isNewThumbnail ? thumbnail?.partialImage(of: header, profile: profile, options) : nil
        }
        shownRowCount = rowCount
        let rows = PixelRows(start: canvas, size: size, layout: .rgb)
        // Arriving rows replace the rows of the thumbnail one by one.
        if let thumbnail {
            thumbnail.fill(canvas, size, from: rowCount)
            (self.thumbnail, isFilled) = (nil, true)
        }
        let top = isFilled ? size.height : rowCount
        let pixels = rows.resized(top: top, to: target(header), orientation: header.turn)
        return pixels.map { pixels in
            WebImage(pixels: pixels, naturalSize: header.size, format: .jpeg, header.orientation, options)
                .with { $0.isPartial = true }
                .converted(from: profile, options)
        }
    }

    /// Decodes the thumbnail, unless this was tried before or the whole image is available at some quality.
    /// - Returns: Whether there is a new thumbnail.
    private func decodeThumbnail(of header: ImageHeader) -> Bool {
        guard !thumbnails.isEmpty else { return false }
        defer { thumbnails = [] }
        guard canvas == nil || rowCount < size.height else { return false }
        guard let thumbnail = JPEGThumbnail(thumbnails, of: header, options), thumbnail.hasColors(of: profile) else {
            return false
        }
        self.thumbnail = thumbnail
        return true
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        // A damaged file is decoded again as a whole: where libjpeg resumes after damage, and whether it does, depends on the bytes
        // that have arrived.
        guard isWhole, !reader.hasWarned, let canvas, let header else {
            // Releases the pixels before the whole file is decoded.
            free(canvas)
            canvas = nil
            return try JPEGCoder().decode(data, options: options)
        }
        _ = try reader.drawScans(into: canvas, width: size.width)
        let target = target(header)
        let decoded = PixelBuffer(adopting: canvas, size: size, format: .rgb)
        self.canvas = nil
        let pixels = try decoded.resized(to: target, orientation: header.turn, options)
        return WebImage(pixels: pixels, naturalSize: header.size, format: .jpeg, header.orientation, options)
            .converted(from: profile, options)
    }

    /// Allocates the pixels once the header has arrived.
    private func begin() throws(ImageError) {
        guard let stored = try reader.readHeader() else { return }
        let known = ImageHeader(reading: head)
        if let known { try options.check(known.size) }
        try options.check(stored)
        needsWholeFile = reader.needsWholeFile
        let orientation = known?.orientation ?? .up
        let header = ImageHeader(format: .jpeg, storedSize: stored, orientation: orientation).turned(by: options)
        self.header = header
        profile = reader.profile
        thumbnails = head.withUnsafeBytes { EmbeddedThumbnail.all(in: ByteReader($0)) }
        head = Data()
        guard !needsWholeFile else { return }
        size = try reader.setUp(divisor: stored.divisor(for: target(header)))
        try options.check(size)
        canvas = malloc(size.width * size.height * 3)?.assumingMemoryBound(to: UInt8.self)
        guard canvas != nil else { throw options.outOfMemory(size) }
    }

    /// The stored size of the image at the size of the options.
    private func target(_ header: ImageHeader) -> PixelSize {
        header.turn.apply(to: options.size.target(for: header.size))
    }
}
