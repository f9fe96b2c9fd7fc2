internal import CWebImageCodecShims
package import FoundationEssentials
package import WebImageCore
import WebImageFormats

/// Decodes AVIF and HEIC with libheif, still or animated. The boxes of a file turn, mirror and crop its image.
package struct HEIFCoder: ExtendedDecoding {
    /// The formats for which libraries are installed; libheif has the decoders of videos in other libraries.
    private static let installed: Set<ImageFormat> = {
        func isInstalled(_ names: String...) -> Bool { names.contains { gwi_library_is_installed($0) } }
        guard isInstalled("libheif.so.1") else { return [] }
        return Set(
            (isInstalled("libdav1d.so.6", "libdav1d.so.7", "libaom.so.3") ? [.avif] : [])
                + (isInstalled("libde265.so.0") ? [.heif] : [])
        )
    }()

    private let formats: @Sendable () -> Set<ImageFormat>

    /// A decoder of the formats for which libraries are installed. The first image loads them.
    package init() { formats = { Self.installed } }

    /// A decoder of the formats that libheif decodes, which is loaded now, with its decoders.
    package static func loaded() -> HEIFCoder { HEIFCoder(bits: gwi_heif_load()) }

    private init(bits: UInt32) {
        let formats = Set([(1, ImageFormat.avif), (2, .heif)].filter { bits & $0.0 != 0 }.map(\.1))
        self.formats = { formats }
    }

    package func canDecode(_ format: ImageFormat) -> Bool { formats().contains(format) }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        let format = ImageFormat(sniffing: data, hint: options.formatHint)
        // libheif may lack the codec.
        guard HEIFCoder.loaded().canDecode(format) else { return try PixbufCoder().decode(data, options: options) }
        return try data.withByteReader { bytes throws(ImageError) in
            if let size = ImageHeader(reading: data)?.size { try options.check(size) }
            let track = HEIFTrack(bytes, frameLimit: options.frameLimit)
            if let animated = try track?.image(data, as: format, options) { return animated }
            let file = try HEIFFile(bytes, options)
            return try file.image(try file.find(), format)
        }
    }

    package var findsThumbnails: Bool { true }

    package func thumbnail(in data: Data, options: DecodeOptions) -> WebImage? {
        let format = ImageFormat(sniffing: data, hint: options.formatHint)
        guard let natural = ImageHeader(reading: data)?.size, HEIFCoder.loaded().canDecode(format) else { return nil }
        return try? data.withByteReader { bytes throws(ImageError) -> WebImage? in
            let file = try HEIFFile(bytes, options)
            let whole = try file.find()
            guard whole.size.pixelCount <= natural.pixelCount, let small = try? file.find(thumbnail: true),
                max(small.size.width, small.size.height) <= Self.longestThumbnail
            else { return nil }
            // A thumbnail that is not turned as its image is has another shape. Its sides are rounded.
            let (one, other) = (small.size.width * whole.size.height, whole.size.width * small.size.height)
            guard abs(one - other) * 100 <= max(one, other) * 3 else { return nil }
            return try file.image(small, format).with {
                ($0.naturalSize, $0.sourceSize) = (whole.size, whole.size)
                ($0.isPartial, $0.isThumbnail) = (true, true)
            }
        }
    }

    /// Cameras write 512x384 at most. A larger thumbnail would take too long.
    private static let longestThumbnail = 512
}

/// A file that libheif has opened. Its bytes must stay at their address.
final class HEIFFile {
    /// An image of the file.
    struct Image {
        let size: PixelSize
        let bits: UInt8
        let hasAlpha: Bool
        let isPremultiplied: Bool

        init(_ header: gwi_heif_header) {
            size = PixelSize(width: Int(header.width), height: Int(header.height))
            (bits, hasAlpha, isPremultiplied) = (header.bits, header.has_alpha, header.is_premultiplied)
        }
    }

    private let file: OpaquePointer
    private let options: DecodeOptions

    init(_ bytes: ByteReader, _ options: DecodeOptions) throws(ImageError) {
        // The pieces of a grid may be somewhat larger than the whole.
        let size = ImageHeader(reading: bytes)?.storedSize
        let side = size.map { max($0.width, $0.height).boundedProduct(2) } ?? .max
        guard let file = gwi_heif_new(bytes.bytes.baseAddress, bytes.count, UInt32(clamping: max(side, 1024))) else {
            throw options.badData("There is no memory to read the file")
        }
        (self.file, self.options) = (file, options)
    }

    deinit {
        gwi_heif_free(file)
    }

    private var damage: ImageError {
        let message = String(cString: gwi_heif_message(file))
        return options.badData("libheif does not decode the file (\(message.isEmpty ? "no cause is known" : message))")
    }

    /// Finds the main image, or its largest thumbnail.
    func find(thumbnail: Bool = false) throws(ImageError) -> Image {
        var header = gwi_heif_header()
        guard gwi_heif_find_image(file, thumbnail, &header) else { throw damage }
        let image = Image(header)
        try options.check(image.size)
        return image
    }

    /// Finds the first track; `nil` if this version of libheif reads none, or the file has none.
    func findTrack() -> Image? {
        var header = gwi_heif_header()
        return gwi_heif_find_track(file, &header) ? Image(header) : nil
    }

    /// Decodes the next rows of the found image or track, which are valid until the next call.
    func decode(hasAlpha: Bool, isDeep: Bool) throws(ImageError) -> gwi_codec_rows {
        var rows = gwi_codec_rows()
        guard gwi_heif_decode(file, hasAlpha, isDeep, &rows) else { throw damage }
        return rows
    }

    /// Decodes a found image at the size of the options.
    func image(_ image: Image, _ format: ImageFormat) throws(ImageError) -> WebImage {
        let isDeep = options.keepsWideColors && image.bits > 8
        let rows = try decode(hasAlpha: image.hasAlpha, isDeep: isDeep)
        let natural = rows.size
        try options.check(natural)
        let target = options.size.target(for: natural)
        let pixels =
            isDeep
            ? deepPixels(rows, image)?.resized(to: target, orientation: .up)
            : PixelRows(
                start: rows.start,
                size: natural,
                bytesPerRow: rows.bytes_per_row,
                layout: image.hasAlpha ? (image.isPremultiplied ? .premultiplied : .rgba) : .rgb
            ).resized(to: target, orientation: .up)
        guard let pixels else { throw options.outOfMemory(target) }
        return WebImage(pixels: pixels, naturalSize: natural, format: format, .up, options)
            .converted(from: profile, options)
    }

    /// Rows of words with some bits as a buffer with all of them.
    private func deepPixels(_ rows: gwi_codec_rows, _ image: Image) -> PixelBuffer? {
        let (count, bits) = (rows.size.width * (image.hasAlpha ? 4 : 3), UInt16(rows.bits))
        return PixelBuffer(
            size: rows.size,
            format: image.hasAlpha ? .rgbaPremultiplied : .rgb,
            colors: PixelBuffer.Colors(gamut: .sRGB, isDeep: true)
        ) { memory in
            let target = memory.bindMemory(to: UInt16.self)
            for y in 0..<rows.size.height {
                let row = (rows.start + y * rows.bytes_per_row).assumingMemoryBound(to: UInt16.self)
                for x in 0..<count { target[y * count + x] = row[x] << (16 - bits) | row[x] >> (2 * bits - 16) }
            }
            if image.hasAlpha, !image.isPremultiplied { PixelBuffer.multiplyDeepAlpha(in: memory) }
        }
    }

    /// The ICC profile of the found image, or the one of its code points.
    var profile: Data? {
        guard options.convertsToSRGB else { return nil }
        let count = gwi_heif_profile(file, nil, 0)
        if count > 0 {
            var data = Data(count: count)
            let isRead = data.withUnsafeMutableBytes { gwi_heif_profile(file, $0.baseAddress, $0.count) } == count
            return isRead ? data : nil
        }
        var (primaries, transfer) = (UInt8(0), UInt8(0))
        guard gwi_heif_code_points(file, &primaries, &transfer) else { return nil }
        return ColorConversion.profile(primaries: primaries, transfer: transfer, isVideo: true)
    }
}

extension gwi_codec_rows {
    var size: PixelSize { PixelSize(width: Int(width), height: Int(height)) }
}
