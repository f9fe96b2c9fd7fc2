internal import CWebImageCodecShims
import FoundationEssentials
import WebImageCore
import WebImageFormats

/// Reads the first frame of a JPEG XL file, of which parts may still be missing.
final class JPEGXLReader {
    private let decoder: OpaquePointer
    private let options: DecodeOptions
    private let isArriving: Bool
    private var header = gwi_jxl_header()
    private var profile: Data?
    private var pixels: PixelBuffer?

    /// - Parameter isArriving: Whether parts of the first frame are shown.
    init(_ options: DecodeOptions, isArriving: Bool) throws(ImageError) {
        guard let decoder = gwi_jxl_new(true) else {
            throw options.badData("There is no memory to read a JPEG XL")
        }
        (self.decoder, self.options, self.isArriving) = (decoder, options, isArriving)
    }

    deinit {
        gwi_jxl_free(decoder)
    }

    var isAnimated: Bool { header.is_animated }

    /// Whether the frames of an animation are wanted, for which this reader ends after the header.
    var isOfFrames: Bool { isAnimated && !isArriving && !options.isFirstFrameOnly }

    /// libjxl needs several times the memory for pixels that it turns itself.
    private var orientation: ImageOrientation { ImageOrientation(rawValue: Int(header.orientation)) ?? .up }

    /// Whether the channels of the file have more than 8 bits.
    var isDeepFile: Bool { header.bits > 8 || header.is_float }

    private var size: PixelSize { PixelSize(width: Int(header.width), height: Int(header.height)) }

    /// The error for a truncated file.
    var truncation: ImageError { options.badData("The JPEG XL ends before its pixels do: it is truncated") }

    /// Gives libjxl the next bytes, which must stay until it has given them back.
    func give(_ bytes: ByteReader, isEnd: Bool) throws(ImageError) {
        guard gwi_jxl_give(decoder, bytes.bytes.baseAddress, bytes.count, isEnd) else {
            throw options.badData("libjxl takes no more bytes")
        }
    }

    /// - Returns: The number of bytes at the end that libjxl has not read.
    func takeBack() -> Int { gwi_jxl_take_back(decoder) }

    /// Decodes as far as there are bytes.
    /// - Returns: Whether the first frame is complete.
    func advance() throws(ImageError) -> Bool {
        while true {
            switch gwi_jxl_next(decoder) {
            case GWI_JXL_HEADER:
                guard gwi_jxl_read_header(decoder, &header) else { throw options.badData("The JPEG XL has no header") }
                try options.check(size)
                if isOfFrames { return true }
            case GWI_JXL_PROFILE:
                profile = options.convertsToSRGB ? jpegXLProfile(decoder) : nil
            case GWI_JXL_NEEDS_TARGET: try setTarget()
            case GWI_JXL_FRAME_DONE: return true
            case GWI_JXL_FRAME: continue
            case GWI_JXL_NEEDS_BYTES: return false
            case GWI_JXL_END: throw options.badData("The JPEG XL has no image")
            default: throw options.badData("The JPEG XL is damaged")
            }
        }
    }

    private func setTarget() throws(ImageError) {
        let colors = PixelBuffer.Colors(gamut: .sRGB, isDeep: options.keepsWideColors && isDeepFile)
        let format: PixelBuffer.Format = header.has_alpha ? .rgbaPremultiplied : .rgb
        guard let pixels = PixelBuffer(uninitialized: size, format, colors) else { throw options.outOfMemory(size) }
        var isSet = false
        pixels.update {
            // A part need not cover all of them.
            if isArriving { $0.initializeMemory(as: UInt8.self, repeating: 0) }
            isSet = gwi_jxl_set_target(decoder, $0.baseAddress, $0.count, header.has_alpha, colors.isDeep)
        }
        guard isSet else { throw options.badData("libjxl gives no pixels of this image") }
        self.pixels = pixels
    }

    /// Writes what has arrived of the frame into the pixels.
    /// - Returns: Whether there is something to show.
    func flush() -> Bool { pixels != nil && gwi_jxl_flush(decoder) }

    /// The image at the size of the options. The pixels of a partial image are copied.
    func image(isPartial: Bool) throws(ImageError) -> WebImage {
        guard let decoded = pixels else { throw truncation }
        let turn = options.turn(orientation)
        let natural = turn.apply(to: size)
        let target = turn.apply(to: options.size.target(for: natural))
        let shown: PixelBuffer?
        if header.has_alpha, !header.is_premultiplied {
            // libjxl writes straight alpha into the pixels, again with each part.
            shown =
                isPartial ? decoded.cropped(to: PixelRect(x: 0, y: 0, width: size.width, height: size.height)) : decoded
            shown?.update {
                decoded.colors.isDeep ? PixelBuffer.multiplyDeepAlpha(in: $0) : PixelBuffer.multiplyAlpha(in: $0)
            }
        } else if isPartial, target == size, turn == .up {
            shown = decoded.cropped(to: PixelRect(x: 0, y: 0, width: size.width, height: size.height))
        } else {
            shown = decoded
        }
        guard let upright = shown?.resized(to: target, orientation: turn) else { throw options.outOfMemory(target) }
        let image = WebImage(pixels: upright, naturalSize: natural, format: .jpegXL, orientation, options)
            .converted(from: profile, options)
        return isPartial ? image.with { $0.isPartial = true } : image
    }
}

/// The profile of the pixels that a decoder writes; `nil` if libjxl makes none.
func jpegXLProfile(_ decoder: OpaquePointer) -> Data? {
    let count = gwi_jxl_profile(decoder, nil, 0)
    guard count > 0 else { return nil }
    var data = Data(count: count)
    let isRead = data.withUnsafeMutableBytes { gwi_jxl_profile(decoder, $0.baseAddress, $0.count) } == count
    return isRead ? data : nil
}
