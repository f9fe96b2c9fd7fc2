internal import CWebImageDeflate
package import FoundationEssentials
package import WebImageCore

extension PNGEncoder {
    /// Writes a lossless animated PNG (PNG specification, third edition). libpng writes the changed rectangle of each frame as a
    /// separate file, whose pixels are copied.
    package func encode(
        _ animation: ImageAnimation,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data? {
        let pixelFormat = animation.hasAlpha ? PixelBuffer.Format.rgbaPremultiplied : .rgb
        var frames = WrittenFrames(animation)
        var writer = APNGWriter(loopCount: animation.loopCount)
        var shown: PackedFrame?
        while let (pixels, duration) = try frames.next() {
            guard let current = PackedFrame(pixels) else {
                throw .noMemory(toEncode: "a PNG of \(pixels.size) pixels")
            }
            let whole = PixelRect(x: 0, y: 0, width: current.size.width, height: current.size.height)
            // A frame without changes still needs one pixel.
            let pixel = PixelRect(x: 0, y: 0, width: 1, height: 1)
            let rect = shown.map { current.changes(since: $0) ?? pixel } ?? whole
            guard let part = current.buffer(rect, pixelFormat) else {
                throw .noMemory(toEncode: "a PNG of \(rect.size) pixels")
            }
            writer.add(try encode(part, as: .png, options: options), in: rect, duration)
            shown = current
        }
        return writer.finish()
    }
}

/// Writes the chunks of an animated PNG.
private struct APNGWriter {
    private var data = Data()
    private let loopCount: Int
    /// The position of the number of frames, which is written last.
    private var countOffset = 0
    private var frameCount: UInt32 = 0
    private var sequence: UInt32 = 0

    init(loopCount: Int) {
        self.loopCount = loopCount
    }

    /// Adds a frame from a PNG file.
    mutating func add(_ file: Data, in rect: PixelRect, _ duration: Duration) {
        let isFirst = frameCount == 0
        frameCount += 1
        var hasControl = false
        if isFirst { data.append(file.prefix(8)) }
        file.withUnsafeBytes { raw in
            for chunk in PNGChunks(ByteReader(raw)) where chunk.isWhole {
                switch chunk.name {
                case .pixels:
                    if !hasControl { addControl(rect, duration, isFirst: isFirst) }
                    hasControl = true
                    guard !isFirst else {
                        data.append(contentsOf: raw[chunk.range])
                        continue
                    }
                    addChunk(.framePixels, Data(bigEndian: takeNumber()) + raw[chunk.contents])
                case .end: break
                default:
                    // Chunks that describe colors are equal in all frames.
                    if isFirst { data.append(contentsOf: raw[chunk.range]) }
                }
            }
        }
    }

    mutating func finish() -> Data {
        let contents = Data(bigEndian: frameCount) + Data(bigEndian: UInt32(clamping: min(loopCount, 1 << 31 - 1)))
        data.replaceSubrange(countOffset..<countOffset + 20, with: Self.chunk(.animation, contents))
        addChunk(.end, Data())
        return data
    }

    private mutating func addControl(_ rect: PixelRect, _ duration: Duration, isFirst: Bool) {
        if isFirst {
            countOffset = data.count
            data.append(Data(count: 20))
        }
        var contents = Data(bigEndian: takeNumber())
        for number in [rect.size.width, rect.size.height, rect.x, rect.y] {
            contents.append(bigEndian: UInt32(clamping: number))
        }
        // The unit is milliseconds if the duration fits in 16 bits, otherwise hundredths, then seconds.
        let milliseconds = Int(bounded: (duration / .milliseconds(1)).rounded())
        let factor = milliseconds <= 65_535 ? 1 : milliseconds <= 655_350 ? 10 : 1000
        let (numerator, denominator) = (min(milliseconds / factor, 65_535), 1000 / factor)
        for number in [numerator, denominator] {
            contents.append(contentsOf: [UInt8(number >> 8), UInt8(number & 255)])
        }
        // The frame is kept, and replaces the pixels in its rectangle.
        contents.append(contentsOf: [0, 0])
        addChunk(.frame, contents)
    }

    private mutating func takeNumber() -> UInt32 {
        defer { sequence += 1 }
        return sequence
    }

    private mutating func addChunk(_ name: PNGChunks.Name, _ contents: Data) {
        data.append(Self.chunk(name, contents))
    }

    private static func chunk(_ name: PNGChunks.Name, _ contents: Data) -> Data {
        var chunk = Data(bigEndian: UInt32(contents.count))
        let typed = Data(bigEndian: name.rawValue) + contents
        chunk.append(typed)
        chunk.append(bigEndian: typed.withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress, $0.count) })
        return chunk
    }
}

extension Data {
    fileprivate init(bigEndian number: UInt32) {
        self.init()
        append(bigEndian: number)
    }
}
