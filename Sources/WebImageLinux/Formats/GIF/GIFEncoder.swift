package import FoundationEssentials
package import WebImageCore

/// Writes GIF, still or animated (GIF89a specification). Each frame has the rectangle that changes, and colours of its own.
package struct GIFEncoder: ImageEncoding {
    /// The sizes of GIF have 16 bits.
    private static let longestSide = 65_535

    package init() {}

    package func canEncode(_ format: ImageFormat) -> Bool { format == .gif }

    package func encode(
        _ pixels: PixelBuffer,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data {
        try Self.check(pixels.size)
        var frame = PackedFrame(pixels)
        frame.removeTranslucency()
        var writer = GIFWriter(size: pixels.size, loopCount: 1)
        let whole = PixelRect(x: 0, y: 0, width: pixels.size.width, height: pixels.size.height)
        writer.add(frame.pixels, in: whole, hundredths: 0, clears: false)
        return writer.finish()
    }

    package func encode(
        _ animation: ImageAnimation,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data? {
        try Self.check(animation.size)
        var frames = WrittenFrames(animation)
        var writer = GIFWriter(size: animation.size, loopCount: animation.loopCount)
        var clock = GIFClock()
        // What a viewer shows before the frame, which decides what has changed.
        var shown: PackedFrame?
        var next = try Self.frame(from: &frames)
        while let current = next {
            next = try Self.frame(from: &frames)
            let whole = PixelRect(x: 0, y: 0, width: animation.size.width, height: animation.size.height)
            // A frame without changes still has a pixel.
            let pixel = PixelRect(x: 0, y: 0, width: 1, height: 1)
            var rect = shown.map { current.pixels.changes(since: $0) ?? pixel } ?? whole
            // Only the disposal of a frame makes pixels transparent again, in the rectangle of the frame.
            let gaps = next?.pixels.gaps(since: current.pixels)
            if let gaps { rect = rect.union(gaps) }
            writer.add(
                Self.changes(current.pixels, since: shown, in: rect),
                in: rect,
                hundredths: clock.hundredths(of: current.duration),
                clears: gaps != nil
            )
            shown = current.pixels
            if gaps != nil { shown?.clear(rect) }
        }
        return writer.finish()
    }

    private static func frame(
        from frames: inout WrittenFrames
    ) throws(ImageError) -> (pixels: PackedFrame, duration: Duration)? {
        guard let frame = try frames.next() else { return nil }
        var pixels = PackedFrame(frame.pixels)
        pixels.removeTranslucency()
        return (pixels, frame.duration)
    }

    /// The pixels of a rectangle, transparent (0) where they are shown already.
    private static func changes(_ frame: PackedFrame, since shown: PackedFrame?, in rect: PixelRect) -> [UInt32] {
        var pixels: [UInt32] = []
        pixels.reserveCapacity(rect.size.pixelCount)
        for y in rect.y..<rect.y + rect.size.height {
            for index in y * frame.size.width + rect.x..<y * frame.size.width + rect.x + rect.size.width {
                let pixel = frame.pixels[index]
                pixels.append(pixel == shown?.pixels[index] ? 0 : pixel)
            }
        }
        return pixels
    }

    private static func check(_ size: PixelSize) throws(ImageError) {
        guard max(size.width, size.height) <= longestSide else {
            throw .encodingFailed("A GIF has at most \(longestSide) pixels to a side, and the image has \(size)")
        }
    }
}

/// The durations of frames in hundredths of a second, of which no rounding error adds up.
private struct GIFClock {
    private var (time, written) = (Duration.zero, 0)

    mutating func hundredths(of duration: Duration) -> Int {
        time += duration
        let end = Int(bounded: (time / .milliseconds(10)).rounded())
        // Viewers take one hundredth for a tenth of a second.
        let hundredths = min(max(end - written, 2), 65_535)
        written += hundredths
        return hundredths
    }
}
