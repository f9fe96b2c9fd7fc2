import FoundationEssentials
import WebImageCore

/// Writes bitmaps of every kind, for BMP files and for icons.
struct TestBitmap {
    static let quarters: [UInt32] = [0xFF0000, 0x00FF00, 0x0000FF, 0xFFFFFF]

    var width = 5
    var height = 4
    /// Bytes in the header: 12 and 64 for OS/2, 40 to 124 for Windows.
    var headerSize = 40
    var bitCount = 24
    var compression: UInt32 = 0
    /// Red, green, blue and alpha.
    var masks: [UInt32] = []
    var palette: [UInt32] = []
    /// The number of colours that the header claims; `nil` for those of the palette.
    var colorsUsed: UInt32?
    var isTopDown = false
    /// The bytes of the pixels; `nil` for rows of `color`.
    var pixels: [UInt8]?
    var profile: [UInt8] = []
    /// The pixel at (x, y), or its index in the palette.
    var color: (_ x: Int, _ y: Int) -> UInt32 = { _, _ in 0 }

    /// A bitmap with a red (top left), green (top right), blue and white quarter.
    static func quarters(bitCount: Int, headerSize: Int = 40) -> TestBitmap {
        var bitmap = TestBitmap(headerSize: headerSize, bitCount: bitCount)
        if bitCount <= 8 { bitmap.palette = bitCount == 1 ? Array(quarters.prefix(2)) : quarters }
        bitmap.color = { x, y in
            let index = (y < 2 ? 0 : 2) + (x < 3 ? 0 : 1)
            if bitCount <= 8 { return UInt32(bitCount == 1 ? index % 2 : index) }
            let color = quarters[index]
            guard bitCount == 16 else { return color }
            return (color >> 16 & 0xF8) << 7 | (color >> 8 & 0xF8) << 2 | color >> 3 & 0x1F
        }
        return bitmap
    }

    /// What `quarters(bitCount:headerSize:)` shows.
    static func quarter(_ x: Int, _ y: Int, bitCount: Int) -> Int {
        let index = (y < 2 ? 0 : 2) + (x < 3 ? 0 : 1)
        return Int(quarters[bitCount == 1 ? index % 2 : index])
    }

    /// The header, the masks and the palette.
    /// - Parameter extraHeight: The height of the mask in an icon.
    func header(extraHeight: Int = 0) -> [UInt8] {
        var header: [UInt8] = Self.long(UInt32(headerSize))
        let height = UInt32(truncatingIfNeeded: (isTopDown ? -1 : 1) * (height + extraHeight))
        if headerSize == 12 {
            header += Self.short(width) + Self.short(Int(height & 0xFFFF)) + Self.short(1) + Self.short(bitCount)
        } else {
            header += Self.long(UInt32(truncatingIfNeeded: width)) + Self.long(height) + Self.short(1)
            header += Self.short(bitCount) + Self.long(compression) + Self.long(0) + Self.long(0) + Self.long(0)
            header += Self.long(colorsUsed ?? UInt32(palette.count)) + Self.long(0)
            if headerSize >= 52, masks.count >= 3 { header += masks.flatMap(Self.long) }
            header += [UInt8](repeating: 0, count: 124)
            header = Array(header.prefix(headerSize))
            if headerSize >= 124, !profile.isEmpty {
                header.replaceSubrange(56..<60, with: Self.long(0x4D42_4544))
                header.replaceSubrange(112..<116, with: Self.long(UInt32(headerSize + palette.count * 4)))
                header.replaceSubrange(116..<120, with: Self.long(UInt32(profile.count)))
            }
            if headerSize < 52 { header += masks.flatMap(Self.long) }
        }
        for color in palette {
            header += [UInt8(color & 255), UInt8(color >> 8 & 255), UInt8(color >> 16 & 255)]
            if headerSize != 12 { header.append(0) }
        }
        return header
    }

    var rows: [UInt8] {
        if let pixels { return pixels }
        var bytes: [UInt8] = []
        for y in 0..<height {
            var row = [UInt8](repeating: 0, count: (width * bitCount + 31) / 32 * 4)
            for x in 0..<width {
                let color = color(x, isTopDown ? y : height - 1 - y)
                if bitCount < 8 {
                    row[x * bitCount / 8] |= UInt8(color) << UInt8(8 - bitCount - x * bitCount % 8)
                } else {
                    for byte in 0..<bitCount / 8 {
                        row[x * bitCount / 8 + byte] = UInt8(color >> UInt32(byte * 8) & 255)
                    }
                }
            }
            bytes += row
        }
        return bytes
    }

    /// A BMP file.
    var file: Data {
        let header = header()
        let start = 14 + header.count + profile.count
        let all = Array("BM".utf8) + Self.long(UInt32(start + rows.count)) + Self.long(0) + Self.long(UInt32(start))
        return Data(all + header + profile + rows)
    }

    /// The image as an icon holds it.
    /// - Parameter isTransparent: Whether the mask hides the pixel at (x, y).
    func icon(isTransparent: @escaping (_ x: Int, _ y: Int) -> Bool = { _, _ in false }) -> [UInt8] {
        var mask = TestBitmap(width: width, height: height, bitCount: 1)
        mask.isTopDown = isTopDown
        mask.color = { isTransparent($0, $1) ? 1 : 0 }
        return header(extraHeight: height) + rows + mask.rows
    }

    static func short(_ number: Int) -> [UInt8] { [UInt8(number & 255), UInt8(number >> 8 & 255)] }

    static func long(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> ($0 * 8) & 255) } }
}
