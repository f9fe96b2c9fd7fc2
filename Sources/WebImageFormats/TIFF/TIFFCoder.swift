import FoundationEssentials
import WebImageCore

/// Decodes the first image of a TIFF file with libtiff: strips, tiles and planes of any depth, gray, palettes, RGB, CMYK, either
/// kind of alpha, and BigTIFF.
struct TIFFCoder: ExtendedDecoding {
    func canDecode(_ format: ImageFormat) -> Bool { format == .tiff }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try data.withByteReader { bytes throws(ImageError) in
            let reader = try TIFFReader(bytes.bytes, options)
            let orientation = reader.orientation
            let turn = options.turn(orientation)
            let natural = turn.apply(to: reader.size)
            let target = turn.apply(to: options.size.target(for: natural))
            let profile = options.convertsToSRGB ? reader.profile : nil
            let pixels = try reader.pixels().resized(to: target, orientation: turn, options)
            return WebImage(pixels: pixels, naturalSize: natural, format: .tiff, orientation, options)
                .converted(from: profile, options)
        }
    }
}
