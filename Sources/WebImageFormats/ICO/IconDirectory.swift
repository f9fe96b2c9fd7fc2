import WebImageCore

/// The images of an icon or cursor (ICONDIR in the Windows SDK).
struct IconDirectory {
    struct Entry {
        /// The position of the image in the file. The stored length is ignored, since programs write wrong ones.
        let offset: Int
        /// Width and height in pixels, from the image itself.
        let size: PixelSize
        /// Bits in a pixel.
        let bitCount: Int
        let isPNG: Bool
    }

    let entries: [Entry]

    /// The entry with the most pixels and, among those, the most bits a pixel.
    var largest: Entry {
        entries.max { ($0.size.pixelCount, $0.bitCount) < ($1.size.pixelCount, $1.bitCount) }!
    }

    /// - Throws: ``ImageError/Code/badImageData`` if the file ends within the directory or contains no image.
    init(_ bytes: ByteReader, _ options: DecodeOptions) throws(ImageError) {
        guard let count = bytes.uint16LE(4).map(Int.init), count > 0, 6 + count * 16 <= bytes.count else {
            throw options.badData("The icon ends within its directory: it is truncated")
        }
        var entries: [Entry] = []
        for index in 0..<count {
            let offset = Int(bytes.uint32LE(6 + index * 16 + 12) ?? 0)
            if let entry = Entry(bytes, at: offset) { entries.append(entry) }
        }
        guard !entries.isEmpty else { throw options.badData("The icon is damaged: it has no image") }
        self.entries = entries
    }

    /// The smallest entry at least as large as the target, or else the largest.
    func entry(for target: PixelSize) -> Entry {
        let candidates = entries.filter { $0.size.width >= target.width && $0.size.height >= target.height }
        return candidates.min { ($0.size.pixelCount, -$0.bitCount) < ($1.size.pixelCount, -$1.bitCount) } ?? largest
    }
}

extension IconDirectory.Entry {
    /// - Returns: `nil` if there is no image at the position.
    fileprivate init?(_ bytes: ByteReader, at offset: Int) {
        self.offset = offset
        isPNG = bytes.matches([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], at: offset)
        if isPNG {
            guard let width = bytes.uint32BE(offset + 16), let height = bytes.uint32BE(offset + 20) else { return nil }
            size = PixelSize(width: Int(width), height: Int(height))
            bitCount = 32
        } else if let header = try? BitmapHeader(bytes, at: offset, DecodeOptions()) {
            // The height includes the rows of the mask.
            size = PixelSize(width: header.size.width, height: header.size.height / 2)
            bitCount = header.bitCount
        } else {
            return nil
        }
        if size.isEmpty { return nil }
    }
}
