public import FoundationEssentials
public import WebImageCore
import WebImageLinux

extension TestImage {
    /// A format that knows frames.
    public enum AnimationFormat: String, Sendable, CaseIterable {
        /// GIF.
        case gif
        /// Animated PNG.
        case png
        /// Animated WebP, without losses.
        case webp
    }

    /// An animation whose frames are each of one colour.
    /// - Parameters:
    ///   - colors: One for each frame, as 0xRRGGBB; at most 128 different ones.
    ///   - size: In pixels.
    ///   - duration: Of each frame, in hundredths of a second.
    ///   - loopCount: How often it is played; 0 is for ever.
    ///   - format: Of the file.
    public static func animation(
        _ colors: [UInt32],
        size: PixelSize,
        duration: Int = 10,
        loopCount: Int = 0,
        format: AnimationFormat = .gif
    ) -> Data {
        switch format {
        case .gif: return gif(colors, size, duration, loopCount)
        case .png: return apng(colors, size, duration, loopCount)
        case .webp:
            var losslessly = EncodeOptions()
            losslessly.isLossless = true
            let image = try? WebImage(data: gif(colors, size, duration, loopCount))
            return (try? image?.data(as: .webp, options: losslessly)) ?? Data()
        }
    }

    private static func gif(_ colors: [UInt32], _ size: PixelSize, _ duration: Int, _ loopCount: Int) -> Data {
        var file = Data("GIF89a".utf8)
        func number(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8 & 255)] }
        var palette: [UInt32] = []
        for color in colors where !palette.contains(color) { palette.append(color) }
        file += number(size.width) + number(size.height) + [0xF6, 0, 0]
        for index in 0..<128 {
            let color = index < palette.count ? palette[index] : 0
            file += [UInt8(color >> 16 & 255), UInt8(color >> 8 & 255), UInt8(color & 255)]
        }
        if loopCount != 1 {
            // What a file says are the rounds after the first one.
            file += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + number(max(loopCount - 1, 0)) + [0]
        }
        for color in colors {
            file += [0x21, 0xF9, 4, 0] + number(duration) + [0, 0]
            file += [0x2C, 0, 0, 0, 0] + number(size.width) + number(size.height) + [0, 7]
            file += blocks(of: UInt8(palette.firstIndex(of: color) ?? 0), count: size.pixelCount)
        }
        return file + [0x3B]
    }

    /// LZW without any compression: codes are bytes for as long as the table is emptied in time.
    private static func blocks(of index: UInt8, count: Int) -> [UInt8] {
        let (clear, end) = (UInt8(128), UInt8(129))
        var codes: [UInt8] = []
        for pixel in 0..<count {
            if pixel % 120 == 0 { codes.append(clear) }
            codes.append(index)
        }
        codes.append(end)
        var result: [UInt8] = []
        for start in stride(from: 0, to: codes.count, by: 255) {
            let block = codes[start..<min(start + 255, codes.count)]
            result += [UInt8(block.count)] + block
        }
        return result + [0]
    }
}
