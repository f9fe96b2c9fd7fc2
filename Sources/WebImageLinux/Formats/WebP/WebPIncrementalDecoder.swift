internal import CWebImageWebP
import FoundationEssentials
import Glibc
import WebImageCore

/// Decodes a WebP file while it arrives.
///
/// @unchecked: one thread at a time uses a decoder, and libwebp works on any thread.
final class WebPIncrementalDecoder: IncrementalImageDecoding, @unchecked Sendable {
    private let options: DecodeOptions
    /// The beginning of the file, until there is enough to make a decoder.
    private var head = Data()
    private var features: WebPFeatures?
    private var target = PixelSize(width: 0, height: 0)
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
        if let decoder { WebPIDelete(decoder) }
        WebPFreeDecBuffer(&config.pointee.output)
        config.deallocate()
        free(canvas?.baseAddress)
    }

    func append(_ data: Data) throws(ImageError) {
        var data = data
        if decoder == nil, frames == nil {
            head.append(data)
            // 30 bytes hold the largest of the headers that libwebp asks for.
            guard head.count >= 30 else { return }
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
        guard let decoder, let features, let rows else { return nil }
        var lastRow: Int32 = 0
        guard WebPIDecGetRGB(decoder, &lastRow, nil, nil, nil) != nil, lastRow > shownRows else { return nil }
        shownRows = lastRow
        return PixelBuffer(top: Int(lastRow), of: rows, orientation: features.orientation)
            .map { features.partialImage($0, options) }
    }

    private func partialAnimation() -> WebImage? {
        frames?.partialImage { data in
            WebPFile(data, frameLimit: options.frameLimit)?.frames.count ?? 0
        } decode: { data throws(ImageError) in
            try WebPCoder().animated(data, WebPFeatures(data, options), isArriving: true, options)
        }
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        // EXIF comes last in a WebP file, so the orientation is known only now.
        let final = try WebPFeatures(data, options)
        let size = final.orientation.apply(to: options.size.target(for: final.size))
        guard isDone, let features, let canvas, size == target, final.hasAlpha == features.hasAlpha else {
            return try WebPCoder().decode(data, options: options)
        }
        if features.hasAlpha { PixelBuffer.multiplyAlpha(in: canvas) }
        let format: PixelBuffer.Format = features.hasAlpha ? .rgbaPremultiplied : .rgb
        let decoded = PixelBuffer(adopting: canvas.baseAddress!, size: target, format: format)
        self.canvas = nil
        guard let upright = decoded.oriented(final.orientation) else { throw options.outOfMemory(target) }
        return final.image(upright, options, of: data)
    }

    /// The pixels decoded so far.
    private var rows: PixelRows? {
        guard let canvas, let features else { return nil }
        let layout = features.hasAlpha ? PixelRows.Layout.rgba : .rgb
        let stride = target.width * layout.bytesPerPixel
        return PixelRows(start: canvas.baseAddress!, size: target, bytesPerRow: stride, layout: layout)
    }

    private func makeDecoder() throws(ImageError) {
        let features = try WebPFeatures(head, options)
        guard !features.isAnimated else {
            frames = PartialAnimation(shownCount: 0)
            return
        }
        target = features.orientation.apply(to: options.size.target(for: features.size))
        self.features = features
        let stride = target.width * (features.hasAlpha ? 4 : 3)
        guard let start = malloc(target.height * stride) else { throw options.outOfMemory(target) }
        let memory = UnsafeMutableRawBufferPointer(start: start, count: target.height * stride)
        canvas = memory
        let stored = features.orientation.apply(to: features.size)
        let bitmap = WebPBitmap(memory, target, hasAlpha: features.hasAlpha)
        guard bitmap.configure(&config.pointee, isScaled: target != stored) else {
            throw options.badData("This libwebp is of another version than its headers")
        }
        decoder = WebPIDecode(nil, 0, config)
        guard decoder != nil else { throw options.badData("There is no memory for the WebP decoder") }
    }
}
