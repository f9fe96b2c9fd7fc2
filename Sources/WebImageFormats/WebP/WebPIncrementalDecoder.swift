internal import CWebImageWebP
import FoundationEssentials
import Glibc
import WebImageCore

/// Decodes an arriving WebP file.
final class WebPIncrementalDecoder: IncrementalImageDecoding {
    private let options: DecodeOptions
    /// The beginning of the file, until it suffices to make a decoder.
    private var head = Data()
    private var features: WebPFeatures?
    private var profile: Data?
    /// The stored size of the canvas.
    private var size = PixelSize(width: 0, height: 0)
    private var canvas: UnsafeMutableRawBufferPointer?
    private var config = UnsafeMutablePointer<WebPDecoderConfig>.allocate(capacity: 1)
    private var decoder: OpaquePointer?
    private var shownRows: Int32 = 0
    private var isDone = false
    /// The frames of an animated file.
    private var frames: PartialAnimation?

    init(_ options: DecodeOptions) {
        self.options = options
        config.initialize(to: WebPDecoderConfig())
    }

    deinit {
        releasePixels()
        WebPFreeDecBuffer(&config.pointee.output)
        config.deallocate()
    }

    private func releasePixels() {
        if let decoder { WebPIDelete(decoder) }
        decoder = nil
        free(canvas?.baseAddress)
        canvas = nil
    }

    func append(_ data: Data) throws(ImageError) {
        var data = data
        if decoder == nil, frames == nil {
            head.append(data)
            guard let count = head.withUnsafeBytes({ Self.preambleSize(ByteReader($0)) }), head.count >= count else {
                return
            }
            try makeDecoder()
            data = head
            head = Data()
        }
        guard decoder != nil else {
            frames?.append(data)
            return
        }
        let status = data.withUnsafeBytes {
            WebPIAppend(decoder, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        isDone = status == VP8_STATUS_OK
        guard isDone || status == VP8_STATUS_SUSPENDED else {
            throw options.badData(WebPCoder.describe(status))
        }
    }

    func partialImage() -> WebImage? {
        if frames != nil { return partialAnimation() }
        // The EXIF data follow the pixels, and showing an image that turns at the end would be worse than waiting.
        guard let decoder, let features, !features.hasEXIF || !options.appliesOrientation, let rows else { return nil }
        var lastRow: Int32 = 0
        guard WebPIDecGetRGB(decoder, &lastRow, nil, nil, nil) != nil, lastRow > shownRows else { return nil }
        shownRows = lastRow
        return rows.resized(top: Int(lastRow), to: options.size.target(for: features.size), orientation: .up)
            .map { features.image($0, options, profile: profile).with { $0.isPartial = true } }
    }

    private func partialAnimation() -> WebImage? {
        let arrival = frames?.arrival
        return frames?.partialImage { data in
            WebPFile(data, frameLimit: options.frameLimit)?.frames.count ?? 0
        } decode: { data throws(ImageError) in
            try WebPCoder().animated(data, WebPFeatures(data, options), isArriving: true, arrival: arrival, options)
        }
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        // EXIF data are at the end of a WebP file, so the orientation is known only now.
        let final = try WebPFeatures(data, options)
        if let frames, final.isAnimated {
            return try WebPCoder().animated(data, final, isArriving: false, arrival: frames.arrival, options)
        }
        let target = final.turn.apply(to: options.size.target(for: final.size))
        guard isDone, let features, let canvas, final.bitmapSize(for: target) == size,
            final.hasAlpha == features.hasAlpha, Self.hasStatedLength(data)
        else {
            // Releases the pixels before the whole file is decoded.
            releasePixels()
            return try WebPCoder().decode(data, options: options)
        }
        if features.hasAlpha { PixelBuffer.multiplyAlpha(in: canvas) }
        let format: PixelBuffer.Format = features.hasAlpha ? .rgbaPremultiplied : .rgb
        let decoded = PixelBuffer(adopting: canvas.baseAddress!, size: size, format: format)
        self.canvas = nil
        let upright = try decoded.resized(to: target, orientation: final.turn, options)
        return final.image(upright, options, profile: profile)
    }

    /// Whether a file is at least as long as its header states.
    private static func hasStatedLength(_ data: Data) -> Bool {
        data.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            return bytes.uint32LE(4).map { Int($0) + 8 <= bytes.count } == true
        }
    }

    /// The pixels decoded so far.
    private var rows: PixelRows? {
        guard let canvas, let features else { return nil }
        let layout = features.hasAlpha ? PixelRows.Layout.rgba : .rgb
        let stride = size.width * layout.bytesPerPixel
        return PixelRows(start: canvas.baseAddress!, size: size, bytesPerRow: stride, layout: layout)
    }

    private func makeDecoder() throws(ImageError) {
        let features = try WebPFeatures(head, options)
        guard !features.isAnimated else {
            frames = PartialAnimation(shownCount: 0)
            return
        }
        size = features.bitmapSize(for: options.size.target(for: features.size))
        profile = features.profile(of: head, options)
        self.features = features
        let stride = size.width * (features.hasAlpha ? 4 : 3)
        guard let start = malloc(size.height * stride) else { throw options.outOfMemory(size) }
        let memory = UnsafeMutableRawBufferPointer(start: start, count: size.height * stride)
        canvas = memory
        let bitmap = WebPBitmap(memory, size, hasAlpha: features.hasAlpha)
        guard bitmap.configure(&config.pointee, isScaled: size != features.storedSize) else {
            throw options.badData("This libwebp is of another version than its headers")
        }
        decoder = WebPIDecode(nil, 0, config)
        guard decoder != nil else { throw options.badData("There is no memory for the WebP decoder") }
    }

    /// The number of bytes before the pixels, including the color profile of an extended file (RFC 9649, section 2.7); `nil` if
    /// more bytes are needed.
    private static func preambleSize(_ bytes: ByteReader) -> Int? {
        // 30 bytes hold the largest header that libwebp needs.
        guard bytes.count >= 30 else { return nil }
        guard bytes.matches("VP8X", at: 12), let flags = bytes.uint8(20), flags & 0x20 != 0 else { return 30 }
        guard let length = bytes.uint32LE(34) else { return nil }
        return bytes.matches("ICCP", at: 30) ? 38 + Int(length) : 30
    }
}
