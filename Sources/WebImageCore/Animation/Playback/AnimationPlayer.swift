/// Plays an animated image: says which frame is to be seen when, and has it decoded by then.
///
/// Frames keep time: what comes late is skipped, and nothing drifts. It wakes up when a frame is due, not before;
/// frames are decoded ahead off the main thread. Widgets have one by themselves (ImageBindable.animationPlayer).
/// Main thread only.
@MainActor
public final class AnimationPlayer {
    /// The image that is played.
    public let image: WebImage
    private let animation: ImageAnimation
    private let clock: any PlaybackClock
    private var buffer: FrameBuffer!
    private var timeline: PlaybackTimeline
    private var settings: ImagePlayback

    /// What is seen: the image itself until the first frame is there.
    public private(set) var currentFrame: WebImage
    /// The number of the frame that is seen.
    public private(set) var currentFrameIndex = 0
    /// Rounds that are through.
    public private(set) var currentLoop = 0
    /// Whether it has been started and not paused. While nobody looks it stands still all the same.
    public private(set) var isPlaying = false
    /// Whether all rounds are through.
    public private(set) var isFinished = false

    /// Called with the number of each frame when it is to be seen.
    public var onFrame: ((_ index: Int) -> Void)?
    /// Called when a round is through, with the number of those that are.
    public var onLoop: ((_ loop: Int) -> Void)?
    /// What draws it.
    package var onChange: (() -> Void)?

    /// How far it was, in its own time, at a time of the clock.
    private var anchor: (elapsed: Duration, time: Double) = (.zero, 0)
    /// The step of the frame that is seen; nil where what is due has to be shown, and nothing before it.
    private var shownStep: Int?
    /// Frames before the first damaged one, as far as is known.
    private var soundCount: Int
    private var isVisible = true
    private var cancelCall: (@MainActor () -> Void)?

    /// - Parameters:
    ///   - queue: Decodes frames.
    ///   - dispatcher: Comes back to the main thread.
    ///   - wholeByteCount: A smaller animation is kept whole once it is decoded.
    /// - Returns: nil for an image that is not animated.
    package init?(
        _ image: WebImage,
        _ settings: ImagePlayback,
        clock: any PlaybackClock,
        queue: WorkQueue,
        budget: AnimationBudget,
        dispatcher: any CallbackDispatching,
        preparation: (any DisplayPreparation)?,
        wholeByteCount: Int = 16 << 20
    ) {
        guard let animation = image.animation else { return nil }
        self.image = image
        self.animation = animation
        self.settings = settings
        self.clock = clock
        soundCount = animation.frameCount
        currentFrame = image
        timeline = Self.timeline(animation.durations, image, settings)
        let link = PlayerLink()
        buffer = FrameBuffer(
            image,
            animation,
            queue: queue,
            budget: budget,
            preparation: preparation,
            maximumByteCount: settings.maximumBufferByteCount ?? budget.limit,
            wholeByteCount: wholeByteCount
        ) {
            dispatcher.dispatch { MainActor.assumeIsolated { link.player?.update() } }
        }
        link.player = self
    }

    deinit {
        buffer.close()
    }

    private static func timeline(
        _ durations: [Duration],
        _ image: WebImage,
        _ settings: ImagePlayback
    ) -> PlaybackTimeline {
        PlaybackTimeline(
            durations: durations,
            mode: settings.mode,
            // What is still arriving waits at its last frame for more.
            loopCount: image.isPartial ? 1 : settings.loopCount ?? image.loopCount
        )
    }

    /// From the frame that is seen on.
    private func remakeTimeline() {
        timeline = Self.timeline(Array(animation.durations.prefix(soundCount)), image, settings)
        let start = timeline.start(ofFrame: currentFrameIndex, loop: currentLoop) ?? .zero
        anchor = (start, clock.now)
    }

    /// Goes on where another player of the same animation is, which has other pixels, or not all of the frames yet.
    package func takeOver(from other: AnimationPlayer) {
        anchor = (other.elapsed, clock.now)
        // What the other showed stays until a frame of this one is there.
        (currentFrame, currentFrameIndex, currentLoop) = (
            other.currentFrame, other.currentFrameIndex, other.currentLoop
        )
        shownStep = other.shownStep.flatMap { timeline.frame(ofStep: $0) == currentFrameIndex ? $0 - 1 : nil }
        (onFrame, onLoop) = (other.onFrame, other.onLoop)
        // One that was still arriving has only come to the end of what was there.
        let isAtItsEnd = other.isFinished && !other.image.isPartial
        isPlaying = other.isPlaying || other.isFinished && !isAtItsEnd
        isFinished = isAtItsEnd
        update()
    }

    // Control

    /// The number of frames.
    public var frameCount: Int { animation.frameCount }

    /// How it plays; changes hold from now on, the frame that is seen stays.
    public var playback: ImagePlayback {
        get { settings }
        set {
            guard newValue != settings else { return }
            let elapsed = elapsed
            let isOther = newValue.mode != settings.mode || newValue.loopCount != settings.loopCount
            settings = newValue
            if isOther {
                remakeTimeline()
                isFinished = false
            } else {
                anchor = (elapsed, clock.now)
            }
            shownStep = nil
            update()
        }
    }

    /// Starts, or goes on where it was paused. What has come to its end begins anew.
    public func play() {
        if isFinished {
            isFinished = false
            (currentLoop, shownStep) = (0, nil)
            anchor = (.zero, clock.now)
        }
        guard !isPlaying else { return }
        anchor = (anchor.elapsed, clock.now)
        isPlaying = true
        update()
    }

    /// Stands still at the frame that is seen.
    public func pause() {
        guard isPlaying else { return }
        anchor = (elapsed, clock.now)
        isPlaying = false
        cancelCall?()
        cancelCall = nil
    }

    /// Stands still at the first frame, and lets go of all others.
    public func stop() {
        pause()
        (currentLoop, shownStep, isFinished) = (0, nil, false)
        anchor = (.zero, clock.now)
        buffer.want([timeline.position(at: .zero).frame])
        update()
    }

    /// Shows a frame, as soon as it is decoded, and goes on from there when it plays.
    /// - Parameters:
    ///   - frame: Its number; one that there is not is ignored.
    ///   - loop: The round. Default: the present one.
    public func seek(to frame: Int, loop: Int? = nil) {
        guard (0..<soundCount).contains(frame),
            let start = timeline.start(ofFrame: frame, loop: loop ?? currentLoop)
        else { return }
        isFinished = false
        currentLoop = loop ?? currentLoop
        anchor = (start, clock.now)
        shownStep = nil
        update()
    }

    /// Goes some frames on, or back with a number below zero, in the order in which they are in the file; from the last
    /// to the first and from the first to the last.
    public func step(by count: Int = 1) {
        let next = (currentFrameIndex + count) % frameCount
        seek(to: next < 0 ? next + frameCount : next)
    }

    /// Whether anybody can see it; while nobody does it stands still, and keeps only what it shows.
    package func setVisible(_ isVisible: Bool) {
        guard isVisible != self.isVisible else { return }
        let elapsed = elapsed
        self.isVisible = isVisible
        anchor = (elapsed, clock.now)
        if isVisible {
            update()
        } else {
            cancelCall?()
            cancelCall = nil
            buffer.want([currentFrameIndex])
        }
    }

    // Time

    /// Whether time goes by for it.
    package var isRunning: Bool { isPlaying && isVisible && settings.rate > 0 && !isFinished }

    private var elapsed: Duration {
        guard isRunning else { return anchor.elapsed }
        return anchor.elapsed + .seconds((clock.now - anchor.time) * settings.rate)
    }

    /// Shows what is due, asks for what comes next, and sees that it is called again in time.
    func update() {
        cancelCall?()
        cancelCall = nil
        let end = buffer.end
        guard end > 1 else { return finish() }
        if end < soundCount {
            // What follows is damaged: the animation is that much shorter.
            soundCount = end
            remakeTimeline()
            shownStep = nil
        }
        // Called a hair's breadth too early, as sums of fractions come out, it would have to be called again.
        let position = timeline.position(at: elapsed + .microseconds(500))
        if position.step != shownStep { show(position) }
        let isAlive = isRunning
        // Enough for half a second: what a busy machine may make it wait.
        let ahead = isAlive || !isPlaying ? timeline.frames(after: position.step, count: isAlive ? lookahead : 1) : []
        if isVisible { buffer.want([position.frame] + ahead) }
        guard isAlive else { return }
        if let due = position.end {
            let time = anchor.time + (due - anchor.elapsed) / .seconds(1) / settings.rate
            cancelCall = clock.call(at: time) { [weak self] in self?.update() }
        } else if shownStep == position.step {
            finish()
        }
    }

    private var lookahead: Int {
        let average = timeline.roundDuration / .seconds(1) / Double(max(frameCount, 1)) / max(settings.rate, 0.01)
        return min(max(Int(0.5 / max(average, 0.001)), 3), 30)
    }

    private func show(_ due: PlaybackTimeline.Position) {
        guard let (position, frame) = newestFrame(due) else { return }
        let isOther = currentFrame != frame
        currentFrame = frame
        currentFrameIndex = position.frame
        shownStep = position.step
        let loops = position.loop - currentLoop
        currentLoop = position.loop
        if isOther {
            onChange?()
            onFrame?(position.frame)
        }
        if loops > 0 { onLoop?(position.loop) }
    }

    /// What is due, or what was due last and has only come now: where decoding is too slow, frames are skipped, but it
    /// goes on.
    private func newestFrame(_ due: PlaybackTimeline.Position) -> (PlaybackTimeline.Position, WebImage)? {
        if let frame = buffer.frame(due.frame) { return (due, frame) }
        guard let shownStep else { return nil }
        for step in stride(from: due.step - 1, to: max(shownStep, due.step - 60), by: -1) {
            var position = due
            (position.step, position.frame) = (step, timeline.frame(ofStep: step))
            if let frame = buffer.presentFrame(position.frame) { return (position, frame) }
        }
        return nil
    }

    /// All rounds are through: what is seen stays.
    private func finish() {
        guard !isFinished else { return }
        // It ended when it ended, however late that was noticed: more frames may come, and go on from there.
        anchor = (min(elapsed, timeline.totalDuration ?? elapsed), clock.now)
        isFinished = true
        isPlaying = false
        buffer.want([currentFrameIndex])
    }
}

/// What the buffer's threads know of the player: touched on the main thread only.
@MainActor
private final class PlayerLink {
    weak var player: AnimationPlayer?
    nonisolated init() {}
}
