import FoundationEssentials
import WebImageCore

/// Decodes icons and cursors of Windows in Swift, using the PNG decoder for embedded PNG files.
///
/// An icon holds one image in several sizes. The coder decodes the smallest that is no smaller than the requested size.
struct ICOCoder: ExtendedDecoding {
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
                // A mask may be cut off, but never extends into the next image.
                let end = directory.entries.map(\.offset).filter { $0 > entry.offset }.min() ?? bytes.count
                let decoded = try pixels(of: entry, bytes, maskEnd: end, options)
                let pixels = try decoded.resized(to: target, orientation: .up, options)
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
        maskEnd: Int,
        _ options: DecodeOptions
    ) throws(ImageError) -> PixelBuffer {
        var header = try BitmapHeader(bytes, at: entry.offset, options)
        header.size = entry.size
        if header.bitCount == 32, header.channels.alpha.isEmpty { header.channels = .rgba8888 }
        let start = header.palette.upperBound
        let rows = try BitmapRows(bytes, of: header, at: start, options: options)
        let maskStart = start + header.bytesPerRow * header.size.height
        let mask = IconMask(bytes: bytes.slice(min(maskStart, maskEnd), max(maskEnd - maskStart, 0)), header: header)
        let pixels = try PixelBuffer(size: header.size, format: .rgbaPremultiplied) { memory throws(ImageError) in
            let hasAlpha = try rows.write(to: memory, bytesPerPixel: 4) && !header.channels.alpha.isEmpty
            // The mask is for programs without alpha support. Without a mask, pixels are opaque.
            if !hasAlpha { mask.apply(to: memory) }
            PixelBuffer.multiplyAlpha(in: memory)
        }
        guard let pixels else { throw options.outOfMemory(header.size) }
        return pixels
    }
}

/// The mask of an icon, which follows its pixels: one bit a pixel, 1 for transparent.
private struct IconMask {
    /// The available bytes of the mask.
    let bytes: ByteReader?
    let header: BitmapHeader

    /// Sets the alpha of four-byte pixels.
    func apply(to memory: UnsafeMutableRawBufferPointer) {
        let size = header.size
        for y in 0..<size.height {
            let row = (header.isTopDown ? y : size.height - 1 - y) * ((size.width + 31) / 32 * 4)
            for x in 0..<size.width {
                let bits = bytes?.uint8(row + x / 8) ?? 0
                memory[(y * size.width + x) * 4 + 3] = bits >> UInt8(7 - x % 8) & 1 == 1 ? 0 : 255
            }
        }
    }
}
