public import FoundationEssentials

/// The frames of an animated image: their durations, and a decoder for their pixels. It keeps the bytes of the file,
/// not the decoded frames.
public final class ImageAnimation: Sendable {
    /// The duration of each frame. Durations below 11 ms become 100 ms, as in browsers.
    public let durations: [Duration]
    /// The number of times to play the animation; 0 means endlessly. A GIF without a looping extension plays once; a
    /// GIF with *n* repetitions plays *n* + 1 times.
    public let loopCount: Int
    /// The size of the decoded, upright frames in pixels.
    package let size: PixelSize
    /// Whether any frame has transparent pixels.
    package let hasAlpha: Bool
    /// The size in bytes of the file, which the animation keeps in memory.
    package let byteCount: Int
    /// The bytes of the whole file; `nil` for an animation that a transformer has changed, that is still arriving, or
    /// that comes from your own decoder.
    ///
    /// The animation decodes its frames from these bytes, so nothing is kept twice.
    public let fileData: Data?
    /// The identity of the arriving file, which two animations share if they start with the same frames; `nil` for other files.
    private let arrival: (ArrivingAnimation, ImageOrientation)?
    /// The number of transformations of each frame. It is the same for all images of a load, unless one lacks a color profile.
    private let mapCount: Int
    /// Counts the bytes of the file; `nil` for an image that was not loaded.
    private let memory: MemoryBudget.Reservation?
    /// Creates the decoder of a player, even if the frames come from an app's decoder.
    package let makeInterruptibleDecoder: @Sendable () -> any InterruptibleFrameDecoding

    /// Creates an animation. Call this in your own decoder.
    /// - Parameters:
    ///   - durations: The duration of each frame, at least two. Durations below 11 ms become 100 ms, and none exceeds a day.
    ///   - loopCount: The number of times to play the animation; 0 means endlessly.
    ///   - size: The size of the decoded frames in pixels.
    ///   - hasAlpha: Whether any frame has transparent pixels.
    ///   - byteCount: The size in bytes of the file, which the decoder keeps in memory.
    ///   - makeDecoder: Creates a decoder that starts at the first frame.
    public convenience init(
        durations: [Duration],
        loopCount: Int,
        size: PixelSize,
        hasAlpha: Bool,
        byteCount: Int,
        makeDecoder: @escaping @Sendable () -> any FrameDecoding
    ) {
        self.init(
            durations: durations,
            loopCount: loopCount,
            size: size,
            hasAlpha: hasAlpha,
            byteCount: byteCount,
            fileData: nil,
            arrival: nil,
            memory: nil,
            makeDecoder: { makeDecoder().interruptible }
        )
    }

    /// - Parameters:
    ///   - fileData: The bytes of the whole file.
    ///   - arrival: The identity that the images of an arriving file share, and the orientation of this one.
    ///   - memory: Counts the bytes of the file.
    package init(
        durations: [Duration],
        loopCount: Int,
        size: PixelSize,
        hasAlpha: Bool,
        byteCount: Int,
        fileData: Data?,
        arrival: (ArrivingAnimation, ImageOrientation)?,
        mapCount: Int = 0,
        memory: MemoryBudget.Reservation?,
        makeDecoder: @escaping @Sendable () -> any InterruptibleFrameDecoding
    ) {
        (self.fileData, self.memory) = (fileData, memory)
        (self.arrival, self.mapCount) = (arrival, mapCount)
        self.durations = durations.map {
            $0 < Self.shortestDuration ? Self.defaultDuration : min($0, Self.longestDuration)
        }
        self.loopCount = max(loopCount, 0)
        self.size = size.bounded
        self.hasAlpha = hasAlpha
        self.byteCount = min(max(byteCount, 0), Self.largestFile)
        makeInterruptibleDecoder = makeDecoder
    }

    private static let shortestDuration = Duration.milliseconds(11)
    private static let defaultDuration = Duration.milliseconds(100)
    /// No format has frames of more than a day. The limit keeps the sum of many long frames finite.
    private static let longestDuration = Duration.seconds(86_400)
    /// A terabyte, so that the sum of the costs of many images stays finite.
    private static let largestFile = 1 << 40

    /// The number of frames, at least two.
    public var frameCount: Int { durations.count }

    /// The duration of one loop.
    public var duration: Duration { durations.reduce(.zero, +) }

    /// The size in bytes of one decoded frame.
    package var bytesPerFrame: Int { size.pixelCount.boundedProduct(hasAlpha ? 4 : 3) }

    /// The size in bytes of all decoded frames.
    package var byteCountOfFrames: Int { bytesPerFrame.boundedProduct(frameCount) }

    /// Creates a decoder. Each player needs its own.
    public func makeDecoder() -> any FrameDecoding { makeInterruptibleDecoder() }

    /// Whether the animation starts with the frames of another one, which was made from less of the same file.
    package func continues(_ other: ImageAnimation) -> Bool {
        guard let arrival, let before = other.arrival else { return false }
        return arrival.0 === before.0 && arrival.1 == before.1 && mapCount == other.mapCount
            && frameCount >= other.frameCount && size == other.size && hasAlpha == other.hasAlpha
    }

    /// Returns the animation with a transformation applied to each frame.
    /// - Parameters:
    ///   - size: The size of the transformed frames in pixels. Default: unchanged.
    ///   - hasAlpha: Whether transformed frames have transparent pixels. Default: unchanged.
    ///   - keepsFile: Whether the frames still match the file. Default: no.
    ///   - transform: Runs on the decoding thread. If it returns `nil`, the animation ends before this frame.
    package func mapFrames(
        size: PixelSize? = nil,
        hasAlpha: Bool? = nil,
        keepsFile: Bool = false,
        _ transform: @escaping @Sendable (PixelBuffer) throws(ImageError) -> PixelBuffer?
    ) -> ImageAnimation {
        ImageAnimation(
            durations: durations,
            loopCount: loopCount,
            size: size ?? self.size,
            hasAlpha: hasAlpha ?? self.hasAlpha,
            byteCount: byteCount,
            fileData: keepsFile ? fileData : nil,
            arrival: arrival,
            mapCount: mapCount + 1,
            memory: memory
        ) { [makeInterruptibleDecoder] in TransformingFrameDecoder(makeInterruptibleDecoder(), transform) }
    }
}

/// Decodes the frames of an animation one at a time. A decoder is used by one thread at a time, never the main thread.
public protocol FrameDecoding: AnyObject, Sendable {
    /// Decodes a complete frame, upright, at the size of the animation.
    ///
    /// Consecutive frames cost one frame each. Going backwards or skipping ahead may decode other frames on the way.
    /// - Parameter index: From 0 up to, but not including, the number of frames.
    /// - Throws: `ImageError.Code.badImageData` if the frame is damaged. The animation then ends before that frame.
    func frame(at index: Int) throws(ImageError) -> PixelBuffer
}

/// A decoder that can stop on the way to a frame that depends on earlier ones, and that keeps memory between frames.
package protocol InterruptibleFrameDecoding: FrameDecoding {
    /// Whether there is memory to release.
    var keepsMemory: Bool { get }

    /// Decodes frames up to an index, or fewer.
    /// - Parameter stopsEarly: Called after each frame on the way. Returns whether this frame will do.
    /// - Returns: The frame reached.
    func frame(towards index: Int, stopsEarly: () -> Bool) throws(ImageError) -> (index: Int, pixels: PixelBuffer)

    /// The memory that the last call lacked; `nil` if it did not fail, or failed for another reason.
    var missingMemory: MissingMemory? { get }

    /// Releases the memory that the decoder keeps between frames. The next frame takes it again.
    func releaseMemory()

    /// Continues from the canvas of a decoder of the same file, made when less of the file had arrived. That decoder starts over.
    func takeOver(from other: any FrameDecoding)
}

/// Memory that a decoder can wait for.
package struct MissingMemory: Sendable {
    let budget: MemoryBudget
    let byteCount: Int

    package init(budget: MemoryBudget, byteCount: Int) {
        (self.budget, self.byteCount) = (budget, byteCount)
    }
}

extension InterruptibleFrameDecoding {
    package var keepsMemory: Bool { true }

    package func frame(at index: Int) throws(ImageError) -> PixelBuffer {
        // A worker may stop on the way.
        while true {
            let (reached, pixels) = try frame(towards: index) { false }
            if reached == index { return pixels }
        }
    }
}

extension FrameDecoding {
    /// The decoder itself, or a wrapper for a decoder of the app.
    fileprivate var interruptible: any InterruptibleFrameDecoding {
        self as? any InterruptibleFrameDecoding ?? PlainFrames(self)
    }
}

/// The frames of an app's decoder, which neither stops early nor has memory to release.
private final class PlainFrames: InterruptibleFrameDecoding {
    private let decoder: any FrameDecoding

    init(_ decoder: any FrameDecoding) { self.decoder = decoder }

    var keepsMemory: Bool { false }
    var missingMemory: MissingMemory? { nil }

    func frame(at index: Int) throws(ImageError) -> PixelBuffer { try decoder.frame(at: index) }

    func frame(towards index: Int, stopsEarly: () -> Bool) throws(ImageError) -> (index: Int, pixels: PixelBuffer) {
        (index, try decoder.frame(at: index))
    }

    func releaseMemory() {}

    func takeOver(from other: any FrameDecoding) {}
}

/// Transforms each frame after it is decoded.
private final class TransformingFrameDecoder: InterruptibleFrameDecoding {
    private let frames: any InterruptibleFrameDecoding
    private let transform: @Sendable (PixelBuffer) throws(ImageError) -> PixelBuffer?

    init(
        _ frames: any InterruptibleFrameDecoding,
        _ transform: @escaping @Sendable (PixelBuffer) throws(ImageError) -> PixelBuffer?
    ) {
        self.frames = frames
        self.transform = transform
    }

    func frame(at index: Int) throws(ImageError) -> PixelBuffer {
        try transformed(frames.frame(at: index), index)
    }

    func frame(towards index: Int, stopsEarly: () -> Bool) throws(ImageError) -> (index: Int, pixels: PixelBuffer) {
        let (reached, pixels) = try frames.frame(towards: index, stopsEarly: stopsEarly)
        return (reached, try transformed(pixels, reached))
    }

    var keepsMemory: Bool { frames.keepsMemory }
    var missingMemory: MissingMemory? { frames.missingMemory }

    func releaseMemory() { frames.releaseMemory() }

    func takeOver(from other: any FrameDecoding) {
        if let other = other as? TransformingFrameDecoder { frames.takeOver(from: other.frames) }
    }

    private func transformed(_ pixels: PixelBuffer, _ index: Int) throws(ImageError) -> PixelBuffer {
        guard let transformed = try transform(pixels) else {
            throw ImageError(
                .transformFailed,
                url: nil,
                reason: "The transformer failed on frame \(index) of the animation",
                remedy: "Make sure that the transformer accepts images of this size."
            )
        }
        return transformed
    }
}

/// The identity of an animated file that is arriving. The images of its frames share it. It shows that the frames that
/// two of them have in common are equal, so that a player need not decode them again.
package final class ArrivingAnimation: Sendable {
    package init() {}
}
