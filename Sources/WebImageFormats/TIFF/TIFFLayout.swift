internal import CWebImageShims
import WebImageCore

/// The layout of samples in the tiles or strips of a TIFF file (TIFF 6.0, sections 3 to 9, 15 and 16).
struct TIFFLayout {
    /// The color space of the samples.
    enum Colors: Equatable {
        case grey(isInverted: Bool)
        case palette
        case rgb
        case cmyk
        /// 8-bit CIE L*a*b* with the white of paper (D50).
        case lab
        /// YCbCr without JPEG, other L*a*b*, and LogLuv, all converted by libtiff.
        case other

        /// The number of samples without alpha.
        fileprivate var count: Int {
            switch self {
            case .grey, .palette: 1
            case .rgb, .lab, .other: 3
            case .cmyk: 4
            }
        }
    }

    let colors: Colors
    /// The position of alpha among the samples of a pixel.
    let alphaIndex: Int?
    let isPremultiplied: Bool
    /// Samples in a pixel after combining all planes.
    let samplesPerPixel: Int
    /// The planes to read.
    let planes: [Int]
    /// The size of a tile or strip in pixels.
    let segmentSize: PixelSize
    /// Bytes in a row of a tile or strip.
    let bytesPerRow: Int
    private let bitCount: Int
    private let isFloatingPoint: Bool

    /// Bytes in a tile or strip.
    var bytesPerSegment: Int { bytesPerRow * segmentSize.height }
    /// Bytes in a pixel of the decoded image.
    var bytesPerPixel: Int { alphaIndex == nil ? 3 : 4 }

    /// - Throws: ``ImageError/Code/badImageData`` if the samples are of an unknown kind, or the tiles are much larger than the
    ///   image.
    init(_ header: gwi_tiff_header, _ options: DecodeOptions) throws(ImageError) {
        let (bits, sampleCount) = (Int(header.bit_count), Int(header.sample_count))
        let isFloatingPoint = header.sample_format == 3
        guard let colors = Self.colors(header),
            sampleCount >= (colors == .other ? 1 : colors.count), sampleCount <= 64,
            isFloatingPoint ? [16, 32, 64].contains(bits) : (1...16).contains(bits) || [24, 32, 64].contains(bits),
            colors != .palette || bits <= 8 && header.red != nil,
            // libtiff and Pillow interpret signed numbers differently.
            isFloatingPoint || header.sample_format == 1 || header.sample_format == 2 && bits <= 16
                || header.sample_format == 4
                || colors == .other || colors == .lab
        else {
            let kind = "\(sampleCount) samples of \(bits) bits, photometric \(header.photometric)"
            throw options.badData("The TIFF has pixels of a kind that the library does not read: \(kind)")
        }
        self.colors = colors
        self.isFloatingPoint = isFloatingPoint
        bitCount = bits
        isPremultiplied = header.is_premultiplied
        let alpha = Int(header.alpha_index)
        let hasAlpha = header.has_alpha && colors != .other && (colors.count..<sampleCount).contains(alpha)
        if header.is_planar {
            planes = Array(0..<colors.count) + (hasAlpha ? [alpha] : [])
            samplesPerPixel = planes.count
            alphaIndex = hasAlpha ? colors.count : nil
        } else {
            planes = [0]
            samplesPerPixel = sampleCount
            alphaIndex = hasAlpha ? alpha : nil
        }
        segmentSize = PixelSize(width: Int(header.segment_width), height: Int(header.segment_height))
        bytesPerRow = (segmentSize.width * (header.is_planar ? 1 : sampleCount) * bits + 7) / 8
        // Tiles may exceed a small image, but not by gigabytes.
        let limit = max(Int(header.width) * Int(header.height) * 4, 1 << 22)
        guard !segmentSize.isEmpty, segmentSize.pixelCount <= limit,
            Self.decodedPixelCount(segmentSize, PixelSize(width: Int(header.width), height: Int(header.height)))
                <= max(limit, Self.mostDecodedPixels),
            bytesPerSegment * planes.count <= Self.memoryLimit(options),
            colors == .other || header.segment_size == UInt64(bytesPerRow) * UInt64(segmentSize.height)
        else {
            throw options.badData("The TIFF is damaged: its tiles or strips of \(segmentSize) pixels make no sense")
        }
    }

    /// The most pixels that are decoded for a small or narrow image, since its tiles are decoded entirely.
    private static let mostDecodedPixels = 1 << 26

    private static func decodedPixelCount(_ segment: PixelSize, _ image: PixelSize) -> Int {
        let across = (image.width - 1) / segment.width + 1
        let down = (image.height - 1) / segment.height + 1
        return across.boundedProduct(down).boundedProduct(segment.pixelCount)
    }

    /// The most bytes that decoded tiles or strips of one position may use: 8 for each pixel of the limit.
    static func memoryLimit(_ options: DecodeOptions) -> Int {
        max(min(options.maximumPixelCount, 1 << 31), 1 << 21) * 8
    }

    /// - Returns: `nil` for unsupported color spaces.
    private static func colors(_ header: gwi_tiff_header) -> Colors? {
        switch header.photometric {
        case 0: .grey(isInverted: true)
        case 1: .grey(isInverted: false)
        case 2: .rgb
        case 3: .palette
        // Other ink sets than CMYK cannot be shown.
        case 5: header.ink_set == 1 ? .cmyk : nil
        // libtiff treats the white of paper as a screen's, which looks yellow.
        case 8 where header.has_paper_white && header.bit_count == 8 && header.sample_count >= 3: .lab
        case 6, 8, 32844, 32845: .other
        default: nil
        }
    }
}

// Converts samples of any depth to bytes.
extension TIFFLayout {
    /// Converts the samples of one row and plane to 8 bits, rounding. Palette indices are not scaled.
    func unpack(_ packed: [UInt8], _ columns: Int, plane: Int, into samples: inout [UInt8]) {
        let isPlanar = planes.count > 1
        let (count, step) = isPlanar ? (columns, planes.count) : (columns * samplesPerPixel, 1)
        if bitCount == 8, !isPlanar {
            for index in 0..<count { samples[index] = packed[index] }
            return
        }
        var target = isPlanar ? plane : 0
        for index in 0..<count {
            samples[target] = sample(packed, index)
            target += step
        }
    }

    @inline(__always)
    private func sample(_ packed: [UInt8], _ index: Int) -> UInt8 {
        switch bitCount {
        case 8:
            return packed[index]
        case 16 where !isFloatingPoint:
            let value = UInt32(packed[index * 2]) | UInt32(packed[index * 2 + 1]) << 8
            return UInt8(truncatingIfNeeded: (value * 255 + 32895) >> 16)
        case 16:
            return level(Double(Float16(bitPattern: UInt16(number(packed, index, byteCount: 2)))))
        case 24:
            return UInt8(truncatingIfNeeded: (number(packed, index, byteCount: 3) * 255 + 0x7F_FFFF) / 0xFF_FFFF)
        case 32:
            let bits = number(packed, index, byteCount: 4)
            if isFloatingPoint { return level(Double(Float(bitPattern: UInt32(bits)))) }
            return UInt8(truncatingIfNeeded: (bits * 255 + 0x7FFF_FFFF) / 0xFFFF_FFFF)
        case 64:
            let bits = number(packed, index, byteCount: 8)
            return isFloatingPoint ? level(Double(bitPattern: bits)) : UInt8(bits >> 56)
        default:
            return narrow(packed, index)
        }
    }

    /// A sample of whole bytes in native byte order, as libtiff stores it.
    private func number(_ packed: [UInt8], _ index: Int, byteCount: Int) -> UInt64 {
        (0..<byteCount).reduce(0) { $0 | UInt64(packed[index * byteCount + $1]) << UInt64($1 * 8) }
    }

    /// Converts 0 through 1 to 0 through 255.
    private func level(_ value: Double) -> UInt8 {
        value > 0 ? UInt8((min(value, 1) * 255).rounded()) : 0
    }

    /// A sample of fewer than 16 bits, except 8. The first bit is the highest.
    private func narrow(_ packed: [UInt8], _ index: Int) -> UInt8 {
        var value: UInt32 = 0
        for bit in index * bitCount..<(index + 1) * bitCount {
            value = value << 1 | UInt32(packed[bit / 8] >> UInt8(7 - bit % 8) & 1)
        }
        guard colors != .palette else { return UInt8(truncatingIfNeeded: value) }
        let largest = UInt32(1) << UInt32(bitCount) - 1
        return UInt8((value * 255 + largest / 2) / largest)
    }
}
