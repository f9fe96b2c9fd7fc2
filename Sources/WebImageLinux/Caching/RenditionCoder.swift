internal import CWebImageTurboJPEG
internal import CWebImageZstd
package import FoundationEssentials
package import WebImageCore

/// How results are written, by what reading them again costs and how much of the disk they take (Tests/bench results):
/// small images as they are, and those of a cell of a grid too while there is room; larger ones as JPEG when they
/// were lossy before, else packed without loss.
package struct RenditionCoder: RenditionCoding {
    /// Bytes of pixels up to which packing is not worth its time. Default: 48 KiB, an image of 128x128.
    private let rawLimit: Int
    /// The same while there is room. Default: 192 KiB, an image of 256x192 with alpha.
    private let roomyRawLimit: Int
    /// 0 to 1. Default: 0.9, which nobody tells from the original at the size at which it is shown.
    private let quality: Double

    /// The formats that have lost something already.
    private let lossy: Set<ImageFormat>

    package init(
        rawLimit: Int = 48 << 10,
        roomyRawLimit: Int = 192 << 10,
        quality: Double = 0.9,
        lossy: Set<ImageFormat> = [.jpeg, .webp, .avif, .heif, .jpegXL]
    ) {
        self.rawLimit = rawLimit
        self.roomyRawLimit = roomyRawLimit
        self.quality = quality
        self.lossy = lossy
    }

    package func encode(_ image: WebImage, hasRoom: Bool) -> (Data, RenditionInfo.Encoding)? {
        let pixels = image.pixels
        if pixels.byteCount <= (hasRoom ? roomyRawLimit : rawLimit) {
            return (pixels.withUnsafeBytes { Data($0) }, .raw)
        }
        if lossy.contains(image.format), !pixels.hasAlpha { return jpeg(pixels).map { ($0, .jpeg) } }
        return packed(pixels).map { ($0, .zstd) }
    }

    package func decode(_ data: Data, _ info: RenditionInfo) -> PixelBuffer? {
        let format = info.hasAlpha ? PixelBuffer.Format.rgbaPremultiplied : .rgb
        var isWhole = false
        let pixels = PixelBuffer(size: info.size, format: format) { memory in
            isWhole = data.withUnsafeBytes { Self.unpack($0, info, into: memory) }
        }
        return isWhole ? pixels : nil
    }

    private static func unpack(
        _ bytes: UnsafeRawBufferPointer,
        _ info: RenditionInfo,
        into memory: UnsafeMutableRawBufferPointer
    ) -> Bool {
        switch info.encoding {
        case .raw:
            guard bytes.count == memory.count else { return false }
            memory.copyMemory(from: bytes)
            return true
        case .zstd:
            return ZSTD_decompress(memory.baseAddress, memory.count, bytes.baseAddress, bytes.count) == memory.count
        case .jpeg:
            guard !info.hasAlpha, let handle = tjInitDecompress() else { return false }
            defer { tjDestroy(handle) }
            var (width, height, sampling, space) = (Int32(0), Int32(0), Int32(0), Int32(0))
            let source = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
            let count = UInt(bytes.count)
            // Into a buffer of the size that the entry says: the image has to have that, too.
            guard tjDecompressHeader3(handle, source, count, &width, &height, &sampling, &space) == 0,
                Int(width) == info.size.width, Int(height) == info.size.height
            else { return false }
            let target = memory.assumingMemoryBound(to: UInt8.self).baseAddress
            let format = Int32(TJPF_RGB.rawValue)
            return tjDecompress2(handle, source, count, target, width, 0, height, format, TJFLAG_FASTDCT) == 0
        }
    }

    private func packed(_ pixels: PixelBuffer) -> Data? {
        pixels.withUnsafeBytes { bytes in
            var data = Data(count: ZSTD_compressBound(bytes.count))
            let room = data.count
            let count = data.withUnsafeMutableBytes {
                ZSTD_compress($0.baseAddress, room, bytes.baseAddress, bytes.count, 1)
            }
            return ZSTD_isError(count) == 0 ? data.prefix(count) : nil
        }
    }

    private func jpeg(_ pixels: PixelBuffer) -> Data? {
        try? JPEGEncoder().encode(pixels, as: .jpeg, quality: quality, options: EncodeOptions())
    }
}
