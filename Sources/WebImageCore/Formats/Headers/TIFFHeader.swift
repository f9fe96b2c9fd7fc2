/// The first directory of a TIFF file (TIFF 6.0, section 2), which is also the format of Exif data.
enum TIFFHeader {
    private enum Tag {
        static let width: UInt16 = 0x0100
        static let height: UInt16 = 0x0101
        static let orientation: UInt16 = 0x0112
    }

    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard let tags = firstDirectory(bytes), let width = tags[Tag.width], let height = tags[Tag.height] else {
            return nil
        }
        return ImageHeader(
            format: .tiff,
            storedSize: PixelSize(width: Int(width), height: Int(height)),
            orientation: tags[Tag.orientation].flatMap { ImageOrientation(rawValue: Int($0)) } ?? .up
        )
    }

    static func orientation(_ bytes: ByteReader) -> ImageOrientation? {
        firstDirectory(bytes)?[Tag.orientation].flatMap { ImageOrientation(rawValue: Int($0)) }
    }

    /// The values of the tags that hold one number of 16 or 32 bits.
    private static func firstDirectory(_ bytes: ByteReader) -> [UInt16: UInt32]? {
        let isBigEndian: Bool
        if bytes.matches([0x49, 0x49, 0x2A, 0x00], at: 0) {
            isBigEndian = false
        } else if bytes.matches([0x4D, 0x4D, 0x00, 0x2A], at: 0) {
            isBigEndian = true
        } else {
            return nil
        }
        func short(_ offset: Int) -> UInt16? { isBigEndian ? bytes.uint16BE(offset) : bytes.uint16LE(offset) }
        func long(_ offset: Int) -> UInt32? { isBigEndian ? bytes.uint32BE(offset) : bytes.uint32LE(offset) }

        guard let start = long(4).map(Int.init), let count = short(start) else { return nil }
        var tags: [UInt16: UInt32] = [:]
        for index in 0..<Int(count) {
            let entry = start + 2 + index * 12
            guard let tag = short(entry), let type = short(entry + 2), let values = long(entry + 4) else { return nil }
            guard values == 1 else { continue }
            switch type {
            case 3: tags[tag] = short(entry + 8).map(UInt32.init)
            case 4: tags[tag] = long(entry + 8)
            default: break
            }
        }
        return tags
    }
}
