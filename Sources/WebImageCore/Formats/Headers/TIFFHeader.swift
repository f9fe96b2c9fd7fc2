/// The directories of TIFF files (TIFF 6.0, section 2) and Exif data.
enum TIFFHeader {
    private enum Tag {
        static let width: UInt16 = 0x0100
        static let height: UInt16 = 0x0101
        static let bitsPerSample: UInt16 = 0x0102
        static let colors: UInt16 = 0x0106
        static let orientation: UInt16 = 0x0112
        static let samplesPerPixel: UInt16 = 0x0115
        static let rowsPerStrip: UInt16 = 0x0116
        static let tileWidth: UInt16 = 0x0142
        static let tileHeight: UInt16 = 0x0143
        static let thumbnailStart: UInt16 = 0x0201
        static let thumbnailLength: UInt16 = 0x0202
    }

    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard let tags = directory(0, of: bytes), let width = tags[Tag.width], let height = tags[Tag.height] else {
            return nil
        }
        var header = ImageHeader(
            format: .tiff,
            storedSize: PixelSize(width: Int(width), height: Int(height)),
            orientation: tags[Tag.orientation].flatMap { ImageOrientation(rawValue: Int($0)) } ?? .up
        )
        header.workingByteCount = segmentByteCount(tags, header.storedSize)
        return header
    }

    /// The bytes of a tile or strip, which is decoded at once. One strip may hold the entire image.
    private static func segmentByteCount(_ tags: [UInt16: UInt32], _ size: PixelSize) -> Int {
        func number(_ tag: UInt16, _ standard: Int) -> Int { tags[tag].map(Int.init) ?? standard }
        let width = number(Tag.tileWidth, size.width)
        let height = number(Tag.tileHeight, min(number(Tag.rowsPerStrip, size.height), size.height))
        let bitCount = number(Tag.samplesPerPixel, 1).boundedProduct(number(Tag.bitsPerSample, 1))
        let byteCount = width.boundedProduct(height).boundedProduct(bitCount) / 8
        // libtiff converts photometric interpretations above 5 (CMYK) at four bytes a pixel.
        return number(Tag.colors, 2) <= 5
            ? byteCount : byteCount.boundedSum(width.boundedProduct(height).boundedProduct(4))
    }

    static func orientation(_ bytes: ByteReader) -> ImageOrientation? {
        directory(0, of: bytes)?[Tag.orientation].flatMap { ImageOrientation(rawValue: Int($0)) }
    }

    /// The position of the thumbnail of Exif data: the JPEG of the second directory (EXIF 2.32, 4.6.5 and table 7). `nil` if there
    /// is none or it is out of bounds.
    static func thumbnail(_ bytes: ByteReader) -> Range<Int>? {
        guard let tags = directory(1, of: bytes), let start = tags[Tag.thumbnailStart].map(Int.init),
            let length = tags[Tag.thumbnailLength].map(Int.init), start <= bytes.count, length <= bytes.count - start
        else { return nil }
        return start..<start + length
    }

    /// The values of all tags with one number, and the first value of the bits per sample.
    /// - Parameter number: The number of the directory, from 0.
    private static func directory(_ number: Int, of bytes: ByteReader) -> [UInt16: UInt32]? {
        let isBigEndian = bytes.matches("MM", at: 0)
        guard isBigEndian || bytes.matches("II", at: 0) else { return nil }
        func short(_ offset: Int) -> UInt16? { isBigEndian ? bytes.uint16BE(offset) : bytes.uint16LE(offset) }
        func long(_ offset: Int) -> UInt32? { isBigEndian ? bytes.uint32BE(offset) : bytes.uint32LE(offset) }
        /// A number of 64 bits that fits in 32.
        func wide(_ offset: Int) -> Int? {
            guard long(isBigEndian ? offset : offset + 4) == 0 else { return nil }
            return long(isBigEndian ? offset + 4 : offset).map(Int.init)
        }

        let isBig: Bool
        switch short(2) {
        case 42: isBig = false
        // BigTIFF has 64-bit positions and counts.
        case 43: isBig = true
        default: return nil
        }
        let (header, stride, value) = isBig ? (8, 20, 12) : (2, 12, 8)
        func position(_ offset: Int) -> Int? { isBig ? wide(offset) : long(offset).map(Int.init) }
        func entryCount(_ start: Int) -> Int? { isBig ? wide(start) : short(start).map(Int.init) }
        guard var start = position(isBig ? 8 : 4) else { return nil }
        for _ in 0..<number {
            // The position of the next directory follows the entries of this one.
            guard let count = entryCount(start), let next = position(start + header + count * stride) else {
                return nil
            }
            start = next
        }
        guard let count = entryCount(start) else { return nil }
        let first = start + header
        var tags: [UInt16: UInt32] = [:]
        for index in 0..<count {
            let entry = first + index * stride
            guard let tag = short(entry), let type = short(entry + 2),
                let values = isBig ? wide(entry + 4) : long(entry + 4).map(Int.init)
            else { return nil }
            if tag == Tag.bitsPerSample, tags[tag] == nil, type == 3, values > 1 {
                let isInline = values.boundedProduct(2) <= stride - value
                let start = isInline ? entry + value : isBig ? wide(entry + value) : long(entry + value).map(Int.init)
                tags[tag] = start.flatMap(short).map(UInt32.init)
            }
            // libtiff uses the first of several entries with the same tag.
            guard values == 1, tags[tag] == nil else { continue }
            switch type {
            case 1: tags[tag] = bytes.uint8(entry + value).map(UInt32.init)
            case 3: tags[tag] = short(entry + value).map(UInt32.init)
            case 4: tags[tag] = long(entry + value)
            case 16 where isBig: tags[tag] = wide(entry + value).map { UInt32(clamping: $0) }
            default: break
            }
        }
        return tags
    }
}
