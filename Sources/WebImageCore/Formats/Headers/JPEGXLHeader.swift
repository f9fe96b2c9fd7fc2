/// The headers of a JPEG XL codestream (ISO/IEC 18181-1, annexes A and D), bare or in boxes (18181-2).
enum JPEGXLHeader {
    @Sendable static func read(_ bytes: ByteReader) -> ImageHeader? {
        guard let start = codestream(in: bytes), bytes.matches([0xFF, 0x0A], at: start) else { return nil }
        var bits = BitReader(bytes: bytes, position: (start + 2) * 8)
        let size = readSize(&bits)
        var (orientation, isDeep, extraCount, isAnimated) = (ImageOrientation.up, false, 0, false)
        let isDefault = bits.readFlag()
        if !isDefault, bits.readFlag() {
            orientation = ImageOrientation(rawValue: bits.read(3) + 1) ?? .up
            // The intrinsic size, and a preview.
            if bits.readFlag() { _ = readSize(&bits) }
            if bits.readFlag() { skipPreview(&bits) }
            isAnimated = bits.readFlag()
            if isAnimated {
                // Ticks, loops and time codes.
                for lengths in [[0, 0, 10, 30], [0, 0, 8, 10], [0, 3, 16, 32]] { _ = bits.readChoice(lengths) }
                _ = bits.read(1)
            }
        }
        if !isDefault {
            let isFloat = bits.readFlag()
            let depth = bits.readChoice([0, 0, 0, 6])
            if isFloat { _ = bits.read(4) }
            isDeep = isFloat || depth.choice == 1 || depth.choice == 2 || depth.value > 7
            _ = bits.read(1)
            // Alpha is one of the extra channels.
            let extra = bits.readChoice([0, 0, 4, 12])
            extraCount = [0, 1, extra.value + 2, extra.value + 1][extra.choice]
        }
        guard bits.isIntact else { return nil }
        var header = ImageHeader(format: .jpegXL, storedSize: size, orientation: orientation)
        // libjxl keeps planes of floats for all that it does not decode block by block.
        let perPixel = (isAnimated ? 56 : isDeep ? 45 : extraCount > 0 ? 36 : 30) + max(extraCount - 1, 0) * 8
        header.workingByteCount = size.pixelCount.boundedProduct(perPixel)
        return header
    }

    /// The position of the codestream; of several parts, the first.
    private static func codestream(in bytes: ByteReader) -> Int? {
        guard bytes.matches("JXL ", at: 4) else { return 0 }
        var offset = 0
        while let length = bytes.uint32BE(offset).map(Int.init) {
            if bytes.matches("jxlc", at: offset + 4) { return offset + (length == 1 ? 16 : 8) }
            if bytes.matches("jxlp", at: offset + 4) { return offset + (length == 1 ? 20 : 12) }
            guard length >= 8 else { return nil }
            offset += length
        }
        return nil
    }

    private static func readSize(_ bits: inout BitReader) -> PixelSize {
        func side(_ isSmall: Bool, _ bits: inout BitReader) -> Int {
            isSmall ? (bits.read(5) + 1) * 8 : bits.readChoice([9, 13, 18, 30]).value + 1
        }
        let isSmall = bits.readFlag()
        let height = side(isSmall, &bits)
        let ratio = bits.read(3)
        guard ratio > 0 else { return PixelSize(width: side(isSmall, &bits), height: height) }
        let (over, under) = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)][ratio - 1]
        return PixelSize(width: height * over / under, height: height)
    }

    private static func skipPreview(_ bits: inout BitReader) {
        let lengths = bits.readFlag() ? [0, 0, 5, 9] : [6, 8, 10, 12]
        _ = bits.readChoice(lengths)
        if bits.read(3) == 0 { _ = bits.readChoice(lengths) }
    }
}

/// Reads numbers of some bits, the lowest first. Bits after the end are 0.
private struct BitReader {
    let bytes: ByteReader
    var position: Int

    /// Whether all bits so far were there.
    var isIntact: Bool { position <= bytes.count * 8 }

    mutating func read(_ count: Int) -> Int {
        var value = 0
        for bit in 0..<count {
            value |= (Int(bytes.uint8(position / 8) ?? 0) >> (position % 8) & 1) << bit
            position += 1
        }
        return value
    }

    mutating func readFlag() -> Bool { read(1) == 1 }

    /// Reads two bits that choose the length of a number, and the number.
    mutating func readChoice(_ lengths: [Int]) -> (choice: Int, value: Int) {
        let choice = read(2)
        return (choice, read(lengths[choice]))
    }
}
