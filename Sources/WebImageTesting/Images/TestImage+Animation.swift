internal import CWebImageDeflate
public import FoundationEssentials
public import WebImageCore
import WebImageFormats
import WebImageLinux

extension TestImage {
    /// A file format for animations.
    public enum AnimationFormat: String, Sendable, CaseIterable {
        /// GIF.
        case gif
        /// Animated PNG.
        case png
        /// Lossless animated WebP.
        case webp
    }

    /// Creates an animation whose frames are each filled with one color.
    /// - Parameters:
    ///   - colors: The color of each frame as 0xRRGGBB, with at most 128 different colors.
    ///   - size: Width and height in pixels.
    ///   - duration: The duration of each frame, in whole hundredths of a second. Default: 0.1 s.
    ///   - loopCount: The number of times to play the animation. Default: 0, which means endlessly.
    ///   - format: The file format. Default: GIF.
    public static func animation(
        _ colors: [UInt32],
        size: PixelSize,
        duration: Duration = .milliseconds(100),
        loopCount: Int = 0,
        format: AnimationFormat = .gif
    ) -> Data {
        precondition(Set(colors).count <= SolidFrames.colorLimit, "A test animation has at most 128 different colours")
        let hundredths = Int((duration / .milliseconds(10)).rounded())
        precondition((0...65_535).contains(hundredths), "A frame is shown for at most 655.35 s")
        let frames = SolidFrames(colors: colors, size: size, duration: hundredths, loopCount: loopCount)
        switch format {
        case .gif: return frames.gif
        case .png: return frames.apng
        case .webp:
            var options = EncodeOptions()
            options.isLossless = true
            let image = try? WebImage(data: frames.gif)
            return (try? image?.data(as: .webp, options: options)) ?? Data()
        }
    }
}

/// The frames of a test animation, and writers for the formats that gdk-pixbuf cannot animate.
private struct SolidFrames {
    /// The number of indices in a GIF with codes of eight bits.
    static let colorLimit = 128

    let colors: [UInt32]
    let size: PixelSize
    /// The duration of a frame in hundredths of a second.
    let duration: Int
    let loopCount: Int
}

extension SolidFrames {
    var gif: Data {
        var file = Data("GIF89a".utf8)
        func number(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8 & 255)] }
        var palette: [UInt32] = []
        for color in colors where !palette.contains(color) { palette.append(color) }
        file += number(size.width) + number(size.height) + [0xF6, 0, 0]
        for index in 0..<Self.colorLimit {
            let color = index < palette.count ? palette[index] : 0
            file += [UInt8(color >> 16 & 255), UInt8(color >> 8 & 255), UInt8(color & 255)]
        }
        if loopCount != 1 {
            // The looping extension counts the repetitions after the first loop.
            file += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + number(max(loopCount - 1, 0)) + [0]
        }
        for color in colors {
            file += [0x21, 0xF9, 4, 0] + number(duration) + [0, 0]
            file += [0x2C, 0, 0, 0, 0] + number(size.width) + number(size.height) + [0, 7]
            file += Self.blocks(of: UInt8(palette.firstIndex(of: color) ?? 0), count: size.pixelCount)
        }
        return file + [0x3B]
    }

    /// Uncompressed LZW: codes stay 8 bits wide as long as the table is cleared in time.
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

// The frames of an APNG come from one PNG file each (PNG specification, third edition).
extension SolidFrames {
    var apng: Data {
        var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        var sequence: UInt32 = 0
        for (index, color) in colors.enumerated() {
            let chunks = Self.chunks(of: TestImage.solid(color, size: size))
            if index == 0 {
                for chunk in chunks where chunk.name == "IHDR" { file += Self.chunk("IHDR", chunk.contents) }
                file += Self.chunk("acTL", Self.number(UInt32(colors.count)) + Self.number(UInt32(loopCount)))
            }
            var control = Self.number(sequence) + Self.number(UInt32(size.width)) + Self.number(UInt32(size.height))
            control += Self.number(0) + Self.number(0)
            control += [UInt8(duration >> 8), UInt8(duration & 255), 0, 100, 0, 0]
            file += Self.chunk("fcTL", control)
            sequence += 1
            for chunk in chunks where chunk.name == "IDAT" {
                if index == 0 {
                    file += Self.chunk("IDAT", chunk.contents)
                } else {
                    file += Self.chunk("fdAT", Self.number(sequence) + chunk.contents)
                    sequence += 1
                }
            }
        }
        return file + Self.chunk("IEND", [])
    }

    private static func chunks(of file: Data) -> [(name: String, contents: [UInt8])] {
        let bytes = [UInt8](file)
        var chunks: [(String, [UInt8])] = []
        var offset = 8
        while offset + 12 <= bytes.count {
            let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            let contents = Array(bytes[offset + 8..<offset + 8 + length])
            chunks.append((String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self), contents))
            offset += 12 + length
        }
        return chunks
    }

    private static func chunk(_ name: String, _ contents: [UInt8]) -> [UInt8] {
        let checked = Array(name.utf8) + contents
        return number(UInt32(contents.count)) + checked + number(libdeflate_crc32(0, checked, checked.count))
    }

    private static func number(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }
}
