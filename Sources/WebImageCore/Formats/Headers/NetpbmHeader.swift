/// The header of a Netpbm file: a magic number, width and height in decimal digits, with comments in between (pbm(5),
/// pgm(5), ppm(5)).
///
/// The loader of gdk-pixbuf logs a warning when it is stopped for the size of such an image, so the size is read first.
package enum NetpbmHeader {
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        var offset = 2
        guard let width = number(bytes, &offset), let height = number(bytes, &offset) else { return nil }
        return ImageHeader(format: .pnm, storedSize: PixelSize(width: width, height: height))
    }

    /// Whether a file has all of its pixels.
    package static func isComplete(_ bytes: ByteReader) -> Bool {
        var offset = 2
        guard let kind = bytes.uint8(1), let width = number(bytes, &offset), let height = number(bytes, &offset) else {
            return false
        }
        let hasLevels = kind != UInt8(ascii: "1") && kind != UInt8(ascii: "4")
        guard let highest = hasLevels ? number(bytes, &offset) : 1 else { return false }
        let channels = kind == UInt8(ascii: "3") || kind == UInt8(ascii: "6") ? 3 : 1
        let samples = width.boundedProduct(height).boundedProduct(channels)
        switch kind {
        case UInt8(ascii: "4"):
            // Eight pixels to a byte, each row from a new byte on. One blank separates the pixels from the header.
            return bytes.count - offset - 1 >= (width.boundedSum(7) / 8).boundedProduct(height)
        case UInt8(ascii: "5"), UInt8(ascii: "6"):
            return bytes.count - offset - 1 >= samples.boundedProduct(highest > 255 ? 2 : 1)
        default:
            return numberCount(bytes, from: offset, isBitmap: !hasLevels) >= samples
        }
    }

    /// The number of samples in decimal digits. Those of a bitmap need no blanks in between.
    private static func numberCount(_ bytes: ByteReader, from start: Int, isBitmap: Bool) -> Int {
        var (count, wasDigit) = (0, false)
        for byte in bytes.bytes[min(start, bytes.count)...] {
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            if isDigit, isBitmap || !wasDigit { count += 1 }
            wasDigit = isDigit
        }
        return count
    }

    /// The next number.
    /// - Returns: `nil` when it is none, or its end has not arrived. It saturates.
    private static func number(_ bytes: ByteReader, _ offset: inout Int) -> Int? {
        while let byte = bytes.uint8(offset), isSpace(byte) || byte == UInt8(ascii: "#") {
            if isSpace(byte) {
                offset += 1
            } else {
                guard let end = bytes.firstIndex(of: UInt8(ascii: "\n"), from: offset) else { return nil }
                offset = end + 1
            }
        }
        var number: Int?
        while let byte = bytes.uint8(offset) {
            guard case UInt8(ascii: "0")...UInt8(ascii: "9") = byte else { return number }
            number = (number ?? 0).boundedProduct(10).boundedSum(Int(byte - UInt8(ascii: "0")))
            offset += 1
        }
        return nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

/// The header of a TGA file, which has no signature (Truevision TGA 2.0, section 4.3).
enum TGAHeader {
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard let width = bytes.uint16LE(12), let height = bytes.uint16LE(14) else { return nil }
        return ImageHeader(format: .tga, storedSize: PixelSize(width: Int(width), height: Int(height)))
    }
}
