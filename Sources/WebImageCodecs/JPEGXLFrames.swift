internal import CWebImageCodecShims
import FoundationEssentials
import Synchronization
import WebImageCore
import WebImageFormats

/// Draws the frames of an animated JPEG XL file, which libjxl decodes in their order, each as a whole canvas.
final class JPEGXLFrames: FrameSource {
    private let bytes: FileBytes
    private let options: DecodeOptions
    private let header: gwi_jxl_header
    private let profile: Data?
    private let durations: [Duration]
    private let state = Mutex(State())

    /// `@unchecked`: the decoder is used under the lock only.
    private struct State: @unchecked Sendable {
        var decoder: JPEGXLFrameDecoder?
        /// The frame that is decoded next.
        var next = 0
    }

    init(_ data: Data, options: DecodeOptions) throws(ImageError) {
        guard let bytes = FileBytes(data) else { throw options.outOfMemory(PixelSize(width: data.count, height: 1)) }
        let decoder = try JPEGXLFrameDecoder(bytes, hasPixels: false, options)
        let (header, profile, ticks) = try decoder.scan()
        guard !ticks.isEmpty else { throw options.badData("The JPEG XL has no frames") }
        (self.bytes, self.options, self.header) = (bytes, options, header)
        self.profile = profile
        durations = ticks.map { .ticks($0, of: header.ticks_per_second, over: header.divisor) }
    }

    private var size: PixelSize { PixelSize(width: Int(header.width), height: Int(header.height)) }

    func image(_ data: Data) throws(ImageError) -> WebImage {
        let rect = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        return try WebImage(
            animated: self,
            layouts: durations.map {
                FrameLayout(rect: rect, duration: $0, disposal: .keep, isBlended: false, hasAlpha: header.has_alpha)
            },
            size: size,
            orientation: ImageOrientation(rawValue: Int(header.orientation)) ?? .up,
            loopCount: Int(header.loops),
            format: .jpegXL,
            data: data,
            isArriving: false,
            arrival: nil,
            options: options
        ).converted(from: profile, options)
    }

    func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
        let result = state.withLock { state in
            Result { () throws(ImageError) in try draw(index, on: canvas, &state) }
        }
        try result.get()
    }

    private func draw(_ index: Int, on canvas: FrameCanvas, _ state: inout State) throws(ImageError) {
        let decoder: JPEGXLFrameDecoder
        if let known = state.decoder, state.next <= index {
            decoder = known
        } else {
            decoder = try JPEGXLFrameDecoder(bytes, hasPixels: true, options)
            (state.decoder, state.next) = (decoder, 0)
        }
        // A decoder that has thrown is not used again.
        state.decoder = nil
        while state.next <= index {
            try decoder.decode(into: canvas)
            state.next += 1
        }
        state.decoder = decoder
        let rect = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        if header.has_alpha, !header.is_premultiplied { canvas.multiplyAlpha(in: rect) }
    }
}

/// Decodes the frames of one file in their order.
private final class JPEGXLFrameDecoder {
    private let decoder: OpaquePointer
    /// libjxl reads them for as long as the decoder exists.
    private let bytes: FileBytes
    private let options: DecodeOptions

    init(_ bytes: FileBytes, hasPixels: Bool, _ options: DecodeOptions) throws(ImageError) {
        guard let decoder = gwi_jxl_new(hasPixels) else {
            throw options.badData("There is no memory to read a JPEG XL")
        }
        (self.decoder, self.bytes, self.options) = (decoder, bytes, options)
        guard gwi_jxl_give(decoder, bytes.reader.bytes.baseAddress, bytes.reader.count, true) else {
            throw options.badData("libjxl takes no bytes")
        }
    }

    deinit {
        gwi_jxl_free(decoder)
    }

    /// The header of the file, its profile if the options convert colors, and the durations of its frames.
    func scan() throws(ImageError) -> (gwi_jxl_header, Data?, [UInt32]) {
        var (header, profile, ticks) = (gwi_jxl_header(), nil as Data?, [UInt32]())
        while ticks.count < options.frameLimit {
            switch gwi_jxl_next(decoder) {
            case GWI_JXL_HEADER: _ = gwi_jxl_read_header(decoder, &header)
            case GWI_JXL_FRAME: ticks.append(gwi_jxl_duration(decoder))
            case GWI_JXL_PROFILE: profile = options.convertsToSRGB ? jpegXLProfile(decoder) : nil
            case GWI_JXL_END: return (header, profile, ticks)
            case GWI_JXL_NEEDS_BYTES: throw options.truncatedAnimation
            default: throw options.badData("The JPEG XL is damaged")
            }
        }
        return (header, profile, ticks)
    }

    /// Decodes the next frame.
    func decode(into canvas: FrameCanvas) throws(ImageError) {
        while true {
            switch gwi_jxl_next(decoder) {
            case GWI_JXL_NEEDS_TARGET:
                guard gwi_jxl_set_target(decoder, canvas.pixels, canvas.size.pixelCount * 4, true, false) else {
                    throw options.badData("A frame of the JPEG XL has another size")
                }
            case GWI_JXL_FRAME_DONE: return
            case GWI_JXL_HEADER, GWI_JXL_PROFILE, GWI_JXL_FRAME: continue
            case GWI_JXL_NEEDS_BYTES: throw options.truncatedAnimation
            default: throw options.badData("A frame of the JPEG XL is damaged")
            }
        }
    }
}
