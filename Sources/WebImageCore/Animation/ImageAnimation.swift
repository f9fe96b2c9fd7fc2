/// An animated image: how long each of its frames is shown, and the means to decode them on demand. Holds the file,
/// not the frames.
public final class ImageAnimation: Sendable {
    /// How long each frame is shown. What a file gives less than 11 ms gets 100 ms, as browsers do it.
    public let durations: [Duration]
    /// How often it is played; 0 is for ever. A GIF without a loop block is played once; one whose block says *n*
    /// repeats is played *n* + 1 times.
    public let loopCount: Int
    /// The size in pixels of the decoded frames, upright.
    public let size: PixelSize
    /// Whether any frame has pixels that are not opaque.
    public let hasAlpha: Bool
    /// The bytes of the file, which the animation keeps.
    public let byteCount: Int
    private let make: @Sendable () -> any FrameDecoding

    /// Makes an animation, as coders do.
    /// - Parameters:
    ///   - durations: Of at least two frames.
    ///   - loopCount: How often it is played; 0 is for ever.
    ///   - size: The size in pixels of the decoded frames.
    ///   - hasAlpha: Whether any frame has pixels that are not opaque.
    ///   - byteCount: The bytes of the file, which the decoder keeps.
    ///   - makeDecoder: Makes a decoder that begins with the first frame.
    public init(
        durations: [Duration],
        loopCount: Int,
        size: PixelSize,
        hasAlpha: Bool,
        byteCount: Int,
        makeDecoder: @escaping @Sendable () -> any FrameDecoding
    ) {
        self.durations = durations.map { $0 < Self.shortest ? Self.usual : $0 }
        self.loopCount = max(loopCount, 0)
        self.size = size
        self.hasAlpha = hasAlpha
        self.byteCount = byteCount
        make = makeDecoder
    }

    private static let shortest = Duration.milliseconds(11)
    private static let usual = Duration.milliseconds(100)

    /// The number of frames, at least two.
    public var frameCount: Int { durations.count }

    /// How long all frames take, once.
    public var duration: Duration { durations.reduce(.zero, +) }

    /// The bytes of the pixels of one frame.
    public var bytesPerFrame: Int { size.pixelCount * (hasAlpha ? 4 : 3) }

    /// Makes a decoder of its own for whoever plays it.
    public func makeDecoder() -> any FrameDecoding { make() }

    /// The same animation with other pixels.
    /// - Parameters:
    ///   - size: The size of what change makes.
    ///   - change: On the thread that decodes; nil ends the animation before this frame.
    package func mapFrames(
        size: PixelSize? = nil,
        hasAlpha: Bool? = nil,
        _ change: @escaping @Sendable (PixelBuffer) -> PixelBuffer?
    ) -> ImageAnimation {
        ImageAnimation(
            durations: durations,
            loopCount: loopCount,
            size: size ?? self.size,
            hasAlpha: hasAlpha ?? self.hasAlpha,
            byteCount: byteCount
        ) { [make] in ChangedFrames(make(), change) }
    }
}

/// Frames that are changed on their way.
private final class ChangedFrames: FrameDecoding {
    private let frames: any FrameDecoding
    private let change: @Sendable (PixelBuffer) -> PixelBuffer?

    init(_ frames: any FrameDecoding, _ change: @escaping @Sendable (PixelBuffer) -> PixelBuffer?) {
        self.frames = frames
        self.change = change
    }

    func frame(at index: Int) throws(ImageError) -> PixelBuffer {
        guard let changed = change(try frames.frame(at: index)) else {
            throw ImageError(
                .transformFailed,
                url: nil,
                reason: "Frame \(index) of the animation could not be changed",
                remedy: "See that the transformer can handle an image of this size."
            )
        }
        return changed
    }
}
