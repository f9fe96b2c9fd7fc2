internal import CWebImageZstd
package import FoundationEssentials
package import WebImageCore

/// Encodes renditions by the cost of reading them again and by their size on disk (Tests/bench renditions).
///
/// Small images are stored as raw pixels, and images of the size of a grid cell too while the disk has room. Larger
/// images are stored as JPEG when the format of their file is lossy, and otherwise compressed without loss.
package struct RenditionCoder: RenditionCoding {
    /// Bytes of pixels up to which compressing takes longer than reading. Default: 48 KiB, an image of 128x128.
    private let rawLimit: Int
    /// The same limit while the disk has room. Default: 192 KiB, an image of 256x192 with alpha.
    private let roomyRawLimit: Int
    /// The JPEG quality, 0 to 1. Default: 0.9, which looks like the original at the size at which it is shown.
    private let quality: Double

    package init(
        rawLimit: Int = 48 << 10,
        roomyRawLimit: Int = 192 << 10,
        quality: Double = 0.9
    ) {
        self.rawLimit = rawLimit
        self.roomyRawLimit = roomyRawLimit
        self.quality = quality
    }

    package func encode(_ image: WebImage, hasRoom: Bool) -> (Data, RenditionInfo.Encoding)? {
        let pixels = image.content.pixels
        if pixels.byteCount <= (hasRoom ? roomyRawLimit : rawLimit) {
            return (pixels.withUnsafeBytes { Data($0) }, .raw)
        }
        if image.format.descriptor?.isLossy == true, !pixels.hasAlpha, !pixels.colors.isDeep {
            return jpeg(pixels).map { ($0, .jpeg) }
        }
        return compressed(pixels).map { ($0, .zstd) }
    }

    package func decode(_ data: Data, _ info: RenditionInfo) -> PixelBuffer? {
        guard info.size == info.size.bounded else { return nil }
        let format = info.hasAlpha ? PixelBuffer.Format.rgbaPremultiplied : .rgb
        var isWhole = false
        let pixels = PixelBuffer(size: info.size, format: format, colors: info.colors) { memory in
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
            return !info.hasAlpha && !info.colors.isDeep && JPEGCoder.decode(bytes, into: memory, size: info.size)
        }
    }

    private func compressed(_ pixels: PixelBuffer) -> Data? {
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
        var options = EncodeOptions()
        options.quality = quality
        return try? JPEGEncoder().encode(pixels, as: .jpeg, options: options)
    }
}
