/// The directory of a Windows icon or cursor (ICONDIR in the Windows SDK).
enum ICOHeader {
    /// Reads the size of the largest image from the images, since the directory has one byte a side.
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard let count = bytes.uint16LE(4).map(Int.init), count > 0, 6 + count * 16 <= bytes.count else { return nil }
        var largest: PixelSize?
        var copied = 0
        for index in 0..<count {
            guard let offset = bytes.uint32LE(6 + index * 16 + 12), let size = size(bytes, at: Int(offset)) else {
                continue
            }
            if size.pixelCount > largest?.pixelCount ?? 0 { largest = size }
            // The decoder may copy all chunks. They are not counted, since thousands of entries can share them.
            let isPNG = bytes.matches(signature, at: Int(offset))
            if isPNG { copied = max(copied, min(bytes.count - Int(offset), PNGHeader.longestStream(size))) }
        }
        return largest.map { size in
            var header = ImageHeader(format: .ico, storedSize: size)
            header.workingByteCount = copied
            return header
        }
    }

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// The size of a PNG file, or of a bitmap, whose height includes the rows of the mask.
    private static func size(_ bytes: ByteReader, at offset: Int) -> PixelSize? {
        if bytes.matches(signature, at: offset) {
            guard let width = bytes.uint32BE(offset + 16), let height = bytes.uint32BE(offset + 20) else { return nil }
            return PixelSize(width: Int(width), height: Int(height))
        }
        guard let length = bytes.uint32LE(offset) else { return nil }
        if length == 12 {
            guard let width = bytes.uint16LE(offset + 4), let height = bytes.uint16LE(offset + 6) else { return nil }
            return PixelSize(width: Int(width), height: Int(height) / 2)
        }
        guard let width = bytes.uint32LE(offset + 4), let height = bytes.uint32LE(offset + 8) else { return nil }
        return PixelSize(
            width: Int(Int32(bitPattern: width).magnitude),
            height: Int(Int32(bitPattern: height).magnitude) / 2
        )
    }
}
