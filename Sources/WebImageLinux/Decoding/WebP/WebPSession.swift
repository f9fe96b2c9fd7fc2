internal import CWebImageWebP
import FoundationEssentials
import Glibc
import WebImageCore

/// A WebP file that is still arriving.
///
/// `@unchecked`: a decoder is used by one thread at a time, and libwebp does not mind which.
final class WebPSession: IncrementalImageDecoding, @unchecked Sendable {
    private let options: DecodeOptions
    /// The beginning of the file, until the decoder could be made.
    private var head = Data()
    private var features: WebPFeatures?
    private var target = PixelSize(width: 0, height: 0)
    private var canvas: UnsafeMutableRawBufferPointer?
    private var config = UnsafeMutablePointer<WebPDecoderConfig>.allocate(capacity: 1)
    private var decoder: OpaquePointer?
    private var shownRows: Int32 = 0

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
        if decoder == nil {
            head.append(data)
            // 30 bytes hold the largest of the headers that libwebp asks for.
            guard head.count >= 30 else { return }
            try makeDecoder()
            data = head
            head = Data()
        }
        let status = data.withUnsafeBytes {
            WebPIAppend(decoder, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        guard status == VP8_STATUS_OK || status == VP8_STATUS_SUSPENDED else {
            throw options.badData(WebPCoder.describe(status))
        }
    }

    func partialImage() -> WebImage? {
        guard let decoder, let features, let canvas else { return nil }
        var lastRow: Int32 = 0
        guard WebPIDecGetRGB(decoder, &lastRow, nil, nil, nil) != nil, lastRow > shownRows else { return nil }
        shownRows = lastRow
        // Rows still to come are transparent: the canvas was cleared.
        let rows = PixelRows(start: canvas.baseAddress!, size: target, bytesPerRow: target.width * 4, layout: .rgba)
        return PixelBuffer(rows, orientation: features.orientation).map { features.partialImage($0, options) }
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        // EXIF comes last in a WebP file; only now is it known how the pixels lie.
        let final = try WebPFeatures(data, options)
        let isDone = WebPIAppend(decoder, nil, 0) == VP8_STATUS_OK
        let size = final.orientation.apply(to: options.size.target(for: final.size))
        guard isDone, let canvas, size == target else {
            return try WebPCoder().decode(data, options: options)
        }
        let layout = final.hasAlpha ? PixelRows.Layout.rgba : .rgbx
        let rows = PixelRows(start: canvas.baseAddress!, size: target, bytesPerRow: target.width * 4, layout: layout)
        guard let pixels = PixelBuffer(rows, orientation: final.orientation) else {
            throw options.outOfMemory(target)
        }
        return final.image(pixels, options, of: data)
    }

    private func makeDecoder() throws(ImageError) {
        let features = try WebPFeatures(head, options)
        guard !features.isAnimated else {
            throw options.badData("Parts of an animated WebP file are not shown")
        }
        target = features.orientation.apply(to: options.size.target(for: features.size))
        self.features = features
        // Cleared, so that rows still to come are transparent; and it can say no.
        guard let start = calloc(target.pixelCount, 4) else { throw options.outOfMemory(target) }
        let memory = UnsafeMutableRawBufferPointer(start: start, count: target.pixelCount * 4)
        canvas = memory
        guard WebPInitDecoderConfig(config) != 0 else { throw options.badData("This libwebp is of another version") }
        config.pointee.options.use_scaling = target == features.orientation.apply(to: features.size) ? 0 : 1
        config.pointee.options.scaled_width = Int32(target.width)
        config.pointee.options.scaled_height = Int32(target.height)
        config.pointee.output.colorspace = MODE_RGBA
        config.pointee.output.is_external_memory = 1
        config.pointee.output.u.RGBA.rgba = memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
        config.pointee.output.u.RGBA.stride = Int32(target.width * 4)
        config.pointee.output.u.RGBA.size = memory.count
        decoder = WebPIDecode(nil, 0, config)
        guard decoder != nil else { throw options.badData("There is no memory for the WebP decoder") }
    }
}
