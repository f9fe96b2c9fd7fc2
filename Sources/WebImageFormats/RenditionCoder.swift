internal import CWebImageZstd
package import FoundationEssentials
package import WebImageCore

/// Encodes renditions, balancing the time to read them and their size on disk (Tests/bench renditions).
///
/// Small images are stored as raw pixels, as are images of the size of a grid cell while the disk has room. Larger images are
/// stored as JPEG if the format of their file is lossy, otherwise with lossless compression.
package struct RenditionCoder: RenditionCoding {
    /// The largest number of bytes that read faster raw than compressed. Default: 48 KiB, an image of 128x128.
    private let rawLimit: Int
    /// The same limit while the disk has room. Default: 192 KiB, an image of 256x192 with alpha.
    private let roomyRawLimit: Int
    /// The JPEG quality, 0 to 1. Default: 0.9, which at the size shown looks like the original.
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
            return (pixels.data, .raw)
        }
        if image.format.descriptor?.isLossy == true, !pixels.hasAlpha, !pixels.colors.isDeep {
            return jpeg(pixels).map { ($0, .jpeg) }
        }
        return compressed(pixels).map { ($0, .zstd) }
    }

    package func decode(_ data: Data, _ info: RenditionInfo) -> PixelBuffer? {
        guard info.size == info.size.bounded else { return nil }
        switch info.encoding {
        case .raw:
            return PixelBuffer(data, size: info.size, format: info.format, colors: info.colors)
        case .zstd:
            return Self.unpack(data, info) { bytes, memory in
                ZSTD_decompress(memory.baseAddress, memory.count, bytes.baseAddress, bytes.count) == memory.count
            }
        case .jpeg:
            guard !info.hasAlpha, !info.colors.isDeep else { return nil }
            return Self.unpack(data, info) { Self.decodeJPEG($0, into: $1, size: info.size) }
        }
    }

    /// - Parameter body: Writes the pixels, and returns whether all are complete.
    private static func unpack(
        _ data: Data,
        _ info: RenditionInfo,
        by body: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Bool
    ) -> PixelBuffer? {
        var isWhole = false
        let pixels = PixelBuffer(size: info.size, format: info.format, colors: info.colors) { memory in
            isWhole = data.withUnsafeBytes { body($0, memory) }
        }
        return isWhole ? pixels : nil
    }

    /// Decodes a JPEG without converting its colors.
    /// - Parameter size: The size of the rendition.
    /// - Returns: Whether the file is intact and has that size.
    private static func decodeJPEG(
        _ bytes: UnsafeRawBufferPointer,
        into memory: UnsafeMutableRawBufferPointer,
        size: PixelSize
    ) -> Bool {
        var options = DecodeOptions()
        options.convertsToSRGB = false
        guard var reader = JPEGReader(options) else { return false }
        reader.setFile(bytes)
        do throws(ImageError) {
            guard try reader.readHeader() == size, try reader.setUp(divisor: 1, isFast: true) == size else {
                return false
            }
            return try reader.decode(into: memory.bindMemory(to: UInt8.self).baseAddress!, width: size.width).isDone
        } catch {
            return false
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

extension RenditionInfo {
    fileprivate var format: PixelBuffer.Format { hasAlpha ? .rgbaPremultiplied : .rgb }
}
