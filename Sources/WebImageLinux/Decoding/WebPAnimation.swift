internal import CWebImageWebP
import FoundationEssentials
import WebImageCore

/// Frames of an animated WebP file.
enum WebPAnimation {
    /// The first frame, composited on its canvas.
    static func firstFrame(
        of data: Data,
        _ features: WebPFeatures,
        _ options: DecodeOptions
    ) throws(ImageError) -> WebImage {
        let canvas = features.orientation.apply(to: features.size)
        let target = features.orientation.apply(to: options.size.target(for: features.size))
        let pixels: PixelBuffer? = data.withUnsafeBytes { bytes in
            var input = WebPData(bytes: bytes.bindMemory(to: UInt8.self).baseAddress, size: bytes.count)
            var settings = WebPAnimDecoderOptions()
            WebPAnimDecoderOptionsInit(&settings)
            settings.color_mode = MODE_RGBA
            guard let decoder = WebPAnimDecoderNew(&input, &settings) else { return nil }
            defer { WebPAnimDecoderDelete(decoder) }
            var frame: UnsafeMutablePointer<UInt8>?
            var time: Int32 = 0
            guard WebPAnimDecoderGetNext(decoder, &frame, &time) != 0, let frame else { return nil }
            return scaled(frame, canvas, to: target, features.orientation)
        }
        guard let pixels else { throw options.badData("The first frame of the WebP animation is damaged") }
        return features.image(pixels, options, of: data)
    }

    private static func scaled(
        _ frame: UnsafeMutablePointer<UInt8>,
        _ size: PixelSize,
        to target: PixelSize,
        _ orientation: ImageOrientation
    ) -> PixelBuffer? {
        let rows = PixelRows(start: frame, size: size, bytesPerRow: size.width * 4, layout: .rgba)
        return PixelScaler.scale(rows, to: target, orientation)
    }
}
