internal import CWebImageCodecShims
import FoundationEssentials
import WebImageCore
import WebImageFormats

/// Decodes the frames of one file in their order.
final class JPEGXLFrameDecoder {
    private let decoder: OpaquePointer
    /// libjxl reads them for as long as the decoder exists.
    private let bytes: FileBytes
    private let options: DecodeOptions

    private init(_ bytes: FileBytes, hasPixels: Bool, _ options: DecodeOptions) throws(ImageError) {
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

    /// The first frame of a file, with its animation.
    static func image(_ data: Data, _ options: DecodeOptions) throws(ImageError) -> WebImage {
        let bytes = try FileBytes(data, options)
        let (header, profile, ticks) = try JPEGXLFrameDecoder(bytes, hasPixels: false, options).scan()
        guard !ticks.isEmpty else { throw options.badData("The JPEG XL has no frames") }
        let size = PixelSize(width: Int(header.width), height: Int(header.height))
        let sequence = FrameSequence(
            format: .jpegXL,
            size: size,
            orientation: ImageOrientation(rawValue: Int(header.orientation)) ?? .up,
            durations: ticks.map { .ticks($0, of: header.ticks_per_second, over: header.divisor) },
            loopCount: Int(header.loops),
            hasAlpha: header.has_alpha
        ) { () throws(ImageError) in
            let decoder = try JPEGXLFrameDecoder(bytes, hasPixels: true, options)
            return { canvas throws(ImageError) in
                try decoder.decode(into: canvas)
                guard header.has_alpha, !header.is_premultiplied else { return }
                canvas.multiplyAlpha(in: PixelRect(x: 0, y: 0, width: size.width, height: size.height))
            }
        }
        return try sequence.image(data, options).converted(from: profile, options)
    }

    /// The header of the file, its profile if the options convert colors, and the durations of its frames.
    private func scan() throws(ImageError) -> (gwi_jxl_header, Data?, [UInt32]) {
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
    private func decode(into canvas: FrameCanvas) throws(ImageError) {
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
