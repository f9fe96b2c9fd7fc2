import FoundationEssentials
import WebImageCore

/// Decodes BMP files of Windows and OS/2 in Swift: all depths, palettes, bit fields, and run-length encoding.
struct BMPCoder: ExtendedDecoding {
    func canDecode(_ format: ImageFormat) -> Bool { format == .bmp }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        try data.withByteReader { bytes throws(ImageError) in
            // In a bitmap array of OS/2, 14 bytes precede the first bitmap.
            let start = bytes.matches("BA", at: 0) ? 14 : 0
            let header = try BitmapHeader(bytes, at: start + 14, options)
            try options.check(header.size)
            let offset = try firstPixel(of: header, bytes, from: start, options: options)
            let rows = try BitmapRows(bytes, of: header, at: offset, options: options)
            let hasAlpha = !header.channels.alpha.isEmpty
            let format: PixelBuffer.Format = hasAlpha ? .rgbaPremultiplied : .rgb
            let decoded = try PixelBuffer(size: header.size, format: format) { memory throws(ImageError) in
                let isVisible = try rows.write(to: memory, bytesPerPixel: format.bytesPerPixel)
                guard hasAlpha else { return }
                // Programs without support for alpha set it to 0 in all pixels.
                if !isVisible { for index in stride(from: 3, to: memory.count, by: 4) { memory[index] = 255 } }
                PixelBuffer.multiplyAlpha(in: memory)
            }
            guard let decoded else { throw options.outOfMemory(header.size) }
            let target = options.size.target(for: header.size)
            let pixels = try decoded.resized(to: target, orientation: .up, options)
            let profile = header.profile.flatMap { bytes.data($0.lowerBound, $0.count) }
            return WebImage(pixels: pixels, naturalSize: header.size, format: .bmp, .up, options)
                .converted(from: options.convertsToSRGB ? profile : nil, options)
        }
    }

    /// The position of the pixels in the file.
    private func firstPixel(
        of header: BitmapHeader,
        _ bytes: ByteReader,
        from start: Int,
        options: DecodeOptions
    ) throws(ImageError) -> Int {
        let offset = Int(bytes.uint32LE(start + 10) ?? 0)
        // If the file states no position or the palette's, the pixels follow the palette, as in gdk-pixbuf and Pillow.
        if offset == 0 || offset == header.palette.lowerBound { return header.palette.upperBound }
        guard offset >= header.palette.lowerBound else {
            throw options.badData("The BMP is damaged: its pixels cannot begin within its header")
        }
        return offset
    }
}
