import FoundationEssentials
import WebImageCore

/// Decodes icons and cursors of Windows in Swift. Images that are PNG files go to the PNG decoder.
///
/// An icon holds one image in several sizes. The smallest that is no smaller than the requested size is decoded.
struct ICOCoder: ImageDecoding {
    private let png = PNGCoder()

    func canDecode(_ format: ImageFormat) -> Bool { format == .ico }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try data.withByteReader { bytes throws(ImageError) in
            let directory = try IconDirectory(bytes, options)
            let natural = directory.largest.size
            try options.check(natural)
            let target = options.size.target(for: natural)
            let entry = directory.entry(for: target)
            let image: WebImage
            if entry.isPNG {
                var options = options
                options.size = .stretch(target)
                options.isFirstFrameOnly = true
                image = try png.decode(data.dropFirst(entry.offset), options: options)
            } else {
                let decoded = try pixels(of: entry, bytes, options)
                guard let pixels = decoded.resized(to: target, orientation: .up) else {
                    throw options.outOfMemory(target)
                }
                image = WebImage(pixels: pixels, naturalSize: natural, format: .ico, .up, options)
            }
            return image.with { content in
                (content.naturalSize, content.sourceSize, content.format) = (natural, natural, .ico)
                content.options = options
            }
        }
    }

    /// The pixels of a bitmap, with its alpha or its mask.
    private func pixels(
        of entry: IconDirectory.Entry,
        _ bytes: ByteReader,
        _ options: DecodeOptions
    ) throws(ImageError) -> PixelBuffer {
        var header = try BitmapHeader(bytes, at: entry.offset, options)
        header.size = entry.size
        if header.bitCount == 32, header.channels.alpha.isEmpty { header.channels = .rgba8888 }
        let start = header.palette.upperBound
        let rows = try BitmapRows(bytes, of: header, at: start, options: options)
        let mask = IconMask(bytes, at: start + header.bytesPerRow * header.size.height, header)
        let pixels = try PixelBuffer(size: header.size, format: .rgbaPremultiplied) { memory throws(ImageError) in
            let hasAlpha = try rows.write(to: memory, bytesPerPixel: 4) && !header.channels.alpha.isEmpty
            // The mask is for programs that know nothing of alpha.
            if !hasAlpha {
                guard let mask else { throw options.badData("The icon ends within its mask: it is truncated") }
                mask.apply(to: memory)
            }
            PixelBuffer.multiplyAlpha(in: memory)
        }
        guard let pixels else { throw options.outOfMemory(header.size) }
        return pixels
    }
}

/// The mask of an icon, which follows its pixels: a bit for each pixel, 1 where it is transparent.
private struct IconMask {
    private let bytes: ByteReader
    private let size: PixelSize
    private let isTopDown: Bool
    private let bytesPerRow: Int

    /// - Returns: `nil` when the file ends within the mask.
    init?(_ bytes: ByteReader, at start: Int, _ header: BitmapHeader) {
        size = header.size
        isTopDown = header.isTopDown
        bytesPerRow = (size.width + 31) / 32 * 4
        let count = bytesPerRow * (size.height - 1) + (size.width + 7) / 8
        guard let mask = bytes.slice(start, count), mask.count == count else { return nil }
        self.bytes = mask
    }

    /// Sets the alpha of pixels of four bytes.
    func apply(to memory: UnsafeMutableRawBufferPointer) {
        for y in 0..<size.height {
            let row = (isTopDown ? y : size.height - 1 - y) * bytesPerRow
            for x in 0..<size.width {
                let bits = bytes.uint8(row + x / 8) ?? 0
                memory[(y * size.width + x) * 4 + 3] = bits >> UInt8(7 - x % 8) & 1 == 1 ? 0 : 255
            }
        }
    }
}
