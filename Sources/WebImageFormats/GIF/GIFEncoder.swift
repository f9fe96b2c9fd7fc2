import FoundationEssentials
import WebImageCore

/// Writes GIF, still or animated (GIF89a specification). Each frame contains only the changed rectangle and has its own colors.
struct GIFEncoder: ImageEncoding {
    /// GIF stores sizes in 16 bits.
    private static let longestSide = 65_535

    func canEncode(_ format: ImageFormat) -> Bool { format == .gif }

    func encode(
        _ pixels: PixelBuffer,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data {
        try Self.check(pixels.size)
        let frame = try Self.frame(pixels)
        var writer = GIFWriter(size: pixels.size, loopCount: 1)
        let whole = PixelRect(x: 0, y: 0, width: pixels.size.width, height: pixels.size.height)
        try writer.add(frame, in: whole, hundredths: 0, clears: false)
        return writer.finish()
    }

    func encode(
        _ animation: ImageAnimation,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data? {
        try Self.check(animation.size)
        var frames = WrittenFrames(animation)
        var writer = GIFWriter(size: animation.size, loopCount: animation.loopCount)
        var clock = GIFClock()
        // The pixels that a viewer shows before the frame.
        var shown: PackedFrame?
        var next = try Self.frame(from: &frames)
        while let current = next {
            next = try Self.frame(from: &frames)
            let whole = PixelRect(x: 0, y: 0, width: animation.size.width, height: animation.size.height)
            // A frame without changes still needs one pixel.
            let pixel = PixelRect(x: 0, y: 0, width: 1, height: 1)
            var rect = shown.map { current.pixels.changes(since: $0) ?? pixel } ?? whole
            // Pixels become transparent only by the disposal of the previous frame, in its rectangle.
            let gaps = next?.pixels.gaps(since: current.pixels)
            if let gaps { rect = rect.union(gaps) }
            guard let changes = PackedFrame(current.pixels, in: rect, since: shown) else {
                throw .noMemory(toEncode: "a GIF of \(rect.size) pixels")
            }
            try writer.add(
                changes,
                in: rect,
                hundredths: clock.hundredths(of: current.duration),
                clears: gaps != nil
            )
            shown = current.pixels
            // The next frame has already been compared with this one.
            if gaps != nil { shown?.clear(rect) }
        }
        return writer.finish()
    }

    private static func frame(
        from frames: inout WrittenFrames
    ) throws(ImageError) -> (pixels: PackedFrame, duration: Duration)? {
        guard let frame = try frames.next() else { return nil }
        return (try Self.frame(frame.pixels), frame.duration)
    }

    private static func frame(_ pixels: PixelBuffer) throws(ImageError) -> PackedFrame {
        guard let frame = PackedFrame(pixels) else { throw .noMemory(toEncode: "a GIF of \(pixels.size) pixels") }
        frame.removeTranslucency()
        return frame
    }

    private static func check(_ size: PixelSize) throws(ImageError) {
        guard max(size.width, size.height) <= longestSide else {
            throw .encodingFailed(
                "A GIF has at most \(longestSide) pixels to a side, and the image has \(size)",
                remedy: "Choose a smaller size or another format."
            )
        }
    }
}

/// Converts durations to hundredths of a second without accumulating rounding errors.
private struct GIFClock {
    private var (time, written) = (Duration.zero, 0)

    mutating func hundredths(of duration: Duration) -> Int {
        time += duration
        let end = Int(bounded: (time / .milliseconds(10)).rounded())
        // Viewers treat one hundredth as a tenth of a second.
        let hundredths = min(max(end - written, 2), 65_535)
        written += hundredths
        return hundredths
    }
}
