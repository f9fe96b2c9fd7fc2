import WebImageCore

/// The header of a bitmap in BMP files and icons: BITMAPCOREHEADER, OS22XBITMAPHEADER, or BITMAPINFOHEADER to BITMAPV5HEADER
/// (wingdi.h).
struct BitmapHeader {
    enum Compression {
        case none
        /// RLE8, RLE4, or RLE24 of OS/2.
        case runLength
    }

    /// Width and height in pixels. In an icon, the height includes the mask.
    var size: PixelSize
    /// Whether the first row is the top one.
    let isTopDown: Bool
    /// Bits in a pixel.
    let bitCount: Int
    let compression: Compression
    /// The channels of 16-bit and 32-bit pixels.
    var channels: BitmapChannels
    /// The position of the palette; empty if there is none.
    let palette: Range<Int>
    /// Bytes in a palette color.
    let paletteStride: Int
    /// The position of the ICC profile; `nil` if there is none.
    let profile: Range<Int>?

    /// Bytes in an uncompressed row, which ends at a multiple of four bytes.
    var bytesPerRow: Int { (size.width * bitCount + 31) / 32 * 4 }
    /// Bytes of the uncompressed pixels. The last row may lack its padding.
    var byteCount: Int { bytesPerRow * (size.height - 1) + (size.width * bitCount + 7) / 8 }

    /// - Parameter start: The position of the header.
    /// - Throws: ``ImageError/Code/badImageData`` if the header is damaged or its pixels are of an unknown kind.
    init(_ bytes: ByteReader, at start: Int, _ options: DecodeOptions) throws(ImageError) {
        guard let headerSize = bytes.uint32LE(start).map(Int.init), start + headerSize <= bytes.count else {
            throw options.badData("The bitmap ends within its header: it is truncated")
        }
        let isCore = headerSize == 12
        guard isCore || (16...1024).contains(headerSize) else {
            throw options.badData("The bitmap is damaged: its header claims \(headerSize) bytes")
        }
        // Fields after the end of a short header are 0.
        func field(_ offset: Int) -> UInt32 { offset + 4 <= headerSize ? bytes.uint32LE(start + offset) ?? 0 : 0 }
        func short(_ offset: Int) -> Int { Int(bytes.uint16LE(start + offset) ?? 0) }

        let height = isCore ? short(6) : Int(Int32(bitPattern: field(8)))
        size = PixelSize(width: isCore ? short(4) : Int(Int32(bitPattern: field(4))), height: abs(height))
        isTopDown = height < 0
        let bitCount = short(isCore ? 10 : 14)
        self.bitCount = bitCount
        let method = field(16)
        // Headers of other sizes are from OS/2, where 4 means RLE24 instead of JPEG.
        let isOS2 = headerSize <= 64 && ![12, 40, 52, 56].contains(headerSize)
        switch (method, bitCount) {
        case (0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 24), (0, 32), (3, 16), (3, 32), (6, 16), (6, 32):
            compression = .none
        case (1, 8), (2, 4),
            (4, 24) where isOS2:
            compression = .runLength
        default:
            throw options.badData(
                "The bitmap has \(bitCount) bits a pixel with compression \(method), which the library does not read"
            )
        }

        var end = start + headerSize
        if method == 0 {
            channels = bitCount == 16 ? .rgb555 : .rgb888
        } else if headerSize >= 52 {
            channels = BitmapChannels(red: field(40), green: field(44), blue: field(48), alpha: field(52))
        } else {
            func mask(_ index: Int) -> UInt32 { bytes.uint32LE(end + index * 4) ?? 0 }
            channels = BitmapChannels(red: mask(0), green: mask(1), blue: mask(2), alpha: method == 6 ? mask(3) : 0)
            if compression == .none { end += method == 6 ? 16 : 12 }
        }
        paletteStride = isCore ? 3 : 4
        let colorLimit = bitCount <= 8 ? 1 << bitCount : 0
        let colorsUsed = Int(field(32))
        let colorCount = colorsUsed == 0 ? colorLimit : min(colorsUsed, colorLimit)
        palette = end..<end + colorCount * paletteStride

        // The flag PROFILE_EMBEDDED is set; the position is relative to the header.
        let (offset, length) = (start + Int(field(112)), Int(field(116)))
        profile = headerSize >= 124 && field(56) == 0x4D42_4544 ? offset..<offset + length : nil
    }
}

/// The bits of the channels in a 16-bit or 32-bit pixel.
struct BitmapChannels {
    struct Channel {
        private let shift: UInt32
        private let limit: UInt32

        init(mask: UInt32) {
            shift = mask == 0 ? 0 : UInt32(mask.trailingZeroBitCount)
            limit = mask >> shift
        }

        var isEmpty: Bool { limit == 0 }

        /// The channel of a pixel, 0 to 255.
        func value(_ pixel: UInt32) -> UInt8 {
            let value = pixel >> shift & limit
            guard limit != 255 else { return UInt8(truncatingIfNeeded: value) }
            let largest = UInt64(max(limit, 1))
            return UInt8(truncatingIfNeeded: (UInt64(value) * 255 + largest / 2) / largest)
        }
    }

    let red: Channel
    let green: Channel
    let blue: Channel
    let alpha: Channel

    init(red: UInt32, green: UInt32, blue: UInt32, alpha: UInt32) {
        self.red = Channel(mask: red)
        self.green = Channel(mask: green)
        self.blue = Channel(mask: blue)
        self.alpha = Channel(mask: alpha)
    }

    static let rgb555 = BitmapChannels(red: 0x7C00, green: 0x03E0, blue: 0x001F, alpha: 0)
    /// 32 bits with 8 unused.
    static let rgb888 = BitmapChannels(red: 0xFF_0000, green: 0xFF00, blue: 0xFF, alpha: 0)
    /// 32 bits, as in icons.
    static let rgba8888 = BitmapChannels(red: 0xFF_0000, green: 0xFF00, blue: 0xFF, alpha: 0xFF00_0000)
}
