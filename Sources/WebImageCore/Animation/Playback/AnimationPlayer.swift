/// Plays an animated image: it determines the frame that is due, and has frames decoded ahead in the background.
///
/// Playback keeps to the clock: late frames are skipped, and nothing drifts. An animation that cannot be decoded as fast
/// as it plays shows the frames that there are, and each loop waits for the end of the one before. The player wakes up
/// only when a frame is due. A widget makes its own player (`ImageBindable.animationPlayer`). All members
/// belong to the main thread.
@preconcurrency @MainActor
public final class AnimationPlayer {
    private enum Activity { case paused, playing, finished }

    /// The animated image. While more of it arrives, and when a widget grows, the same player gets it with more frames or
    /// pixels.
    public private(set) var image: WebImage
    /// Both ways to an image check that it is animated.
    private var animation: ImageAnimation { image.animation! }
    private let clock: any PlaybackClock
    private let makeBuffer: (WebImage, ImageAnimation, ImagePlayback) -> FrameBuffer
    private var buffer: FrameBuffer!
    /// The schedule of the frames before the first damaged one, as far as it is known.
    private var timeline: PlaybackTimeline
    private var settings: ImagePlayback

    /// The current frame; the image itself until the first frame is decoded.
    public private(set) var currentFrame: WebImage
    /// The index of the current frame.
    public private(set) var currentFrameIndex = 0
    /// The frame of a jump that is not on display yet.
    private var soughtFrame: Int?
    /// The number of completed loops.
    public private(set) var currentLoop = 0
    private var activity = Activity.paused
    /// Whether playback was started and not paused. Frames advance only while the player is visible.
    public var isPlaying: Bool { activity == .playing }
    /// Whether all loops are completed.
    public var isFinished: Bool { activity == .finished }

    /// The handler that is called with the index of each frame when it becomes current.
    public var onFrame: (@MainActor (_ index: Int) -> Void)?
    /// The handler that is called at the end of each loop, with the number of completed loops.
    public var onLoop: (@MainActor (_ loop: Int) -> Void)?
    /// The handler that is called when another frame must be drawn.
    package var onChange: (() -> Void)?

    /// The playback position at one time of the clock. Positions are computed from this pair. Without a time the position stays
    /// until there is memory for a canvas.
    private var anchor: (elapsed: Duration, time: Double?) = (.zero, 0)
    /// The step of the current frame; `nil` after a jump, when only the frame due may be shown.
    private var shownStep: Int?
    /// Whether the current frame belongs to the image, rather than to the one with fewer pixels or frames before it.
    private var hasOwnFrame = true
    /// Whether the frame that was due at the last update was not decoded.
    private var isLate = false
    /// The number of updates, by which one notices that a handler has caused another.
    private var updateCount = 0
    /// Whether only the system settings keep the player from playing: it was not played, paused or stopped since.
    package var isHeld = false
    private var isVisible = true
    private var cancelCall: (@MainActor () -> Void)?
    private var cancelRelease: (@MainActor () -> Void)?
    /// How long an animation that is invisible or paused keeps what it needs to go on at once, in seconds: longer than a row is out
    /// of view while the user scrolls up and down.
    private static let releaseDelay = 10.0

    /// - Parameters:
    ///   - queue: The queue that decodes the frames.
    ///   - dispatcher: The way back to the main thread.
    ///   - wholeByteCount: The size in bytes up to which all decoded frames are kept.
    ///   - longestStep: The longest time that the decoder spends on the way to a frame.
    /// - Returns: `nil` for an image that is not animated.
    package init?(
        _ image: WebImage,
        _ settings: ImagePlayback,
        clock: any PlaybackClock,
        queue: WorkQueue,
        budget: AnimationBudget,
        dispatcher: any CallbackDispatching,
        preparation: (any DisplayPreparation)?,
        wholeByteCount: Int = 16 << 20,
        longestStep: Duration = FrameBuffer.longestStep
    ) {
        guard let animation = image.animation, animation.frameCount > 1 else { return nil }
        (self.image, self.settings, self.clock, currentFrame) = (image, settings, clock, image)
        timeline = Self.timeline(of: image, durations: animation.durations, settings)
        let link = PlayerLink()
        makeBuffer = { image, animation, settings in
            FrameBuffer(
                image,
                animation,
                queue: queue,
                budget: budget,
                preparation: preparation,
                maximumByteCount: settings.maximumBufferByteCount ?? budget.limit,
                wholeByteCount: wholeByteCount,
                longestStep: longestStep
            ) {
                dispatcher.dispatch { MainActor.assumeIsolated { link.player?.update() } }
            }
        }
        buffer = makeBuffer(image, animation, settings)
        link.player = self
    }

    deinit {
        buffer.close()
    }

    private static func timeline(
        of image: WebImage,
        durations: [Duration],
        _ settings: ImagePlayback
    ) -> PlaybackTimeline {
        PlaybackTimeline(
            durations: durations,
            mode: settings.mode,
            // A partial animation stops at its last frame until more frames arrive.
            loopCount: image.isPartial ? 1 : settings.loopCount ?? image.loopCount
        )
    }

    /// Rebuilds the timeline so that playback continues at the current frame, or begins with the first one in its order.
    /// - Parameters:
    ///   - frameCount: The number of intact frames.
    ///   - keepsOrder: Whether the frames keep their order, so that a finished animation is at the end of a loop.
    private func rebuildTimeline(frameCount: Int, keepsOrder: Bool) {
        let isAtStart = !isPlaying && !isFinished && anchor.elapsed == .zero
        timeline = Self.timeline(of: image, durations: Array(animation.durations.prefix(frameCount)), settings)
        var start = isAtStart ? .zero : timeline.start(ofFrame: currentFrameIndex, loop: loopOnDisplay) ?? .zero
        if isFinished, keepsOrder, timeline.frame(ofStep: 0) == currentFrameIndex {
            // A bounce ends with the frame that the next loop begins with.
            start = timeline.loopDuration * timeline.bounded(loop: currentLoop)
        }
        anchor = (start, clock.now)
    }

    /// The loop of the current frame. A finished animation shows the end of its last one.
    private var loopOnDisplay: Int { isFinished ? currentLoop - 1 : currentLoop }

    /// Goes on with the same animation in more pixels or frames, at its present position.
    package func show(_ image: WebImage) {
        guard image != self.image, let animation = image.animation else { return }
        // A partial animation has only reached the end of the frames that had arrived.
        let isAtItsEnd = isFinished && !self.image.isPartial
        let elapsed = elapsed
        self.image = image
        let hasSameFrames = hasOwnFrame && buffer.grow(to: image, animation)
        if hasSameFrames {
            if currentFrameIndex == 0 { currentFrame = image }
        } else {
            let old = buffer
            buffer = makeBuffer(image, animation, settings)
            old?.close()
        }
        timeline = Self.timeline(of: image, durations: animation.durations, settings)
        anchor = (elapsed, clock.now)
        // The frame on display stays until this image's own is decoded.
        hasOwnFrame = hasSameFrames
        shownStep = shownStep.flatMap { step in
            guard timeline.frame(ofStep: step) == currentFrameIndex else { return nil }
            return hasSameFrames ? step : step - 1
        }
        if isFinished, !isAtItsEnd { activity = .playing }
        update()
        if !isVisible { buffer.rest(shown: currentFrameIndex) }
    }

    // The controls of the player.

    /// The number of frames.
    public var frameCount: Int { animation.frameCount }

    /// The playback settings. A change takes effect at the current frame.
    public var playback: ImagePlayback {
        get { settings }
        set {
            guard newValue != settings else { return }
            let elapsed = elapsed
            if settings.isAutomatic, !newValue.isAutomatic { isHeld = false }
            let changesOrder = newValue.mode != settings.mode
            let changesTimeline = changesOrder || newValue.loopCount != settings.loopCount
            settings = newValue
            if changesTimeline {
                rebuildTimeline(frameCount: timeline.frameCount, keepsOrder: !changesOrder)
                // Where the current frame is the last one in the new order, too, nothing is left to play.
                if isFinished, !timeline.isLast(duePosition) { activity = .paused }
                if isFinished { anchor.elapsed = timeline.totalDuration ?? anchor.elapsed }
            } else {
                anchor = (elapsed, clock.now)
            }
            shownStep = nil
            update()
        }
    }

    /// Starts or resumes playback. A finished animation starts over, unless the player has jumped to one of its frames since.
    public func play() {
        isHeld = false
        if isFinished {
            (currentLoop, shownStep) = (0, nil)
            anchor = (.zero, clock.now)
        }
        guard !isPlaying else { return }
        anchor.time = clock.now
        activity = .playing
        update()
    }

    /// Pauses at the current frame.
    public func pause() {
        isHeld = false
        guard isPlaying else { return }
        anchor = (shownElapsed, clock.now)
        (activity, isLate) = (.paused, false)
        cancelCall.take()?()
        if isVisible { requestFrames(at: duePosition, isPaused: true) }
        releaseWhileNothingMoves()
    }

    /// Stops playback at the first frame, and drops frames that are decoded, unless the animation is small enough to keep all
    /// of them.
    public func stop() {
        pause()
        (currentLoop, shownStep, activity) = (0, nil, .paused)
        soughtFrame = timeline.frame(ofStep: 0)
        anchor = (.zero, clock.now)
        buffer.rest(shown: currentFrameIndex)
        update()
    }

    /// Jumps to a frame, which appears once it is decoded. A player that plays goes on from there. One that is paused, or whose
    /// animation has finished, stays at the frame until ``play()``, which goes on from there.
    /// - Parameters:
    ///   - frame: The index of the frame. An invalid index is ignored.
    ///   - loop: The loop to jump to, or the nearest one that there is. Default: the current one, which is the last one when the
    ///     animation has finished.
    public func seek(to frame: Int, loop: Int? = nil) {
        let loop = timeline.nearest(loop: loop ?? loopOnDisplay)
        guard let start = timeline.start(ofFrame: frame, loop: loop) else { return }
        if isFinished { activity = .paused }
        (currentLoop, soughtFrame) = (loop, frame)
        anchor = (start, clock.now)
        shownStep = nil
        update()
    }

    /// Steps by a number of frames in file order, backwards if it is negative. Steps wrap around at both ends.
    public func step(by count: Int = 1) {
        let next = ((soughtFrame ?? currentFrameIndex) + count % timeline.frameCount) % timeline.frameCount
        seek(to: next < 0 ? next + timeline.frameCount : next)
    }

    /// Sets whether the animation is visible. An invisible one pauses, and keeps only its current frame, or all frames where it
    /// is small enough for that.
    package func setVisible(_ isVisible: Bool) {
        guard isVisible != self.isVisible else { return }
        let elapsed = shownElapsed
        (self.isVisible, isLate) = (isVisible, false)
        anchor = (elapsed, clock.now)
        cancelRelease.take()?()
        if isVisible {
            update()
        } else {
            cancelCall.take()?()
            buffer.rest(shown: currentFrameIndex)
            releaseWhileNothingMoves()
        }
    }

    /// Has the canvas given back once nothing has moved for a while, since others may wait for it.
    private func releaseWhileNothingMoves() {
        // What happens while the animation is hidden does not matter.
        guard isVisible || cancelRelease == nil else { return }
        cancelRelease.take()?()
        guard !isRunning, !isFinished || image.isPartial, buffer.keepsDecoderMemory else { return }
        cancelRelease = clock.call(at: clock.now + Self.releaseDelay) { [weak self] in
            self?.cancelRelease = nil
            self?.buffer.releaseDecoderMemory()
        }
    }

    // The passage of time.

    /// Whether the playback position advances.
    package var isRunning: Bool { isPlaying && isVisible && rate > 0 && !isFinished }

    /// The rate, without the values with which no time can be computed.
    private var rate: Double { settings.rate.bounded(to: 0...1_000_000, ifNaN: 0) }

    private var elapsed: Duration {
        guard isRunning, let time = anchor.time else { return anchor.elapsed }
        return anchor.elapsed + .bounded(seconds: (clock.now - time) * rate)
    }

    /// The position due, with 0.5 ms of slack: rounding may wake the player marginally early.
    private var duePosition: PlaybackTimeline.Position { timeline.position(at: elapsed + .microseconds(500)) }

    /// The position to stop at: that of the frame on display when later ones are not decoded yet.
    private var shownElapsed: Duration {
        guard isLate, let shownStep else { return elapsed }
        return min(timeline.start(ofStep: shownStep), elapsed)
    }

    /// Shows the frame due, requests the frames that follow, and schedules the next update.
    func update() {
        cancelCall.take()?()
        anchor.time = anchor.time ?? clock.now
        let end = buffer.end
        guard end > 1 else { return finish() }
        if end < timeline.frameCount {
            // The frames from here on are damaged, so the animation becomes shorter.
            rebuildTimeline(frameCount: end, keepsOrder: true)
            shownStep = nil
        }
        waitForDecoder()
        let position = duePosition
        updateCount += 1
        let number = updateCount
        if position.step != shownStep { show(position) }
        // A handler of the app has jumped elsewhere, and the update for that has run.
        guard number == updateCount else { return }
        isLate = isRunning && position.step != shownStep
        if isVisible { requestFrames(at: position) }
        releaseWhileNothingMoves()
        guard isRunning else { return }
        if isLate, buffer.waitsForMemory { return waitForMemory() }
        if let due = position.end {
            let time = (anchor.time ?? clock.now) + (due - anchor.elapsed) / .seconds(1) / rate
            cancelCall = clock.call(at: time) { [weak self] in self?.update() }
        } else if shownStep == position.step {
            finish()
        }
    }

    /// Holds the clock at the end of the frame on display until there is memory for a canvas, which may take minutes: nothing
    /// is missed meanwhile, and nothing wakes the player but the frame.
    private func waitForMemory() {
        let next = shownStep.map { timeline.start(ofStep: $0 + 1) }
        anchor = (min(next ?? elapsed, elapsed), nil)
        let position = duePosition
        if buffer.frame(position.frame) != nil { return update() }
        requestFrames(at: position)
    }

    /// Holds the clock where a slow decoder would otherwise never catch up: at the target of a jump, which would move
    /// away, and at the end of a loop, whose last frames would never be seen.
    private func waitForDecoder() {
        guard isLate, isRunning else { return }
        if shownStep == nil {
            anchor.time = clock.now
        } else if duePosition.loop > currentLoop {
            anchor = (timeline.startOfLastFrame(inLoop: currentLoop), clock.now)
        }
    }

    /// Has the frame at a position and those after it decoded. While nothing moves, one frame is ready for a step.
    private func requestFrames(at position: PlaybackTimeline.Position, isPaused: Bool = false) {
        let isRunning = isRunning
        let ahead =
            isRunning || !isPlaying ? timeline.frames(after: position.step, count: isRunning ? lookahead : 1) : []
        let shown = hasOwnFrame ? currentFrameIndex : nil
        buffer.request([position.frame] + ahead, shown: shown, isPaused: isPaused)
    }

    /// The number of frames to decode ahead: half a second, the longest delay to expect on a busy machine.
    private var lookahead: Int {
        let average = timeline.loopDuration / .seconds(1) / Double(max(frameCount, 1)) / max(rate, 0.01)
        return min(max(Int(bounded: 0.5 / max(average, 0.001)), 3), 30)
    }

    private func show(_ due: PlaybackTimeline.Position) {
        guard let (position, frame) = newestFrame(due) else { return }
        let isNewFrame = currentFrame != frame
        currentFrame = frame
        hasOwnFrame = true
        currentFrameIndex = position.frame
        soughtFrame = nil
        shownStep = position.step
        let loops = position.loop - currentLoop
        currentLoop = position.loop
        let number = updateCount
        if isNewFrame {
            onChange?()
            onFrame?(position.frame)
        }
        // A handler may have jumped elsewhere.
        if loops > 0, number == updateCount { onLoop?(position.loop) }
    }

    /// Returns the frame due, or else the latest earlier one that is decoded. If decoding is too slow, frames are skipped,
    /// but the animation still moves.
    private func newestFrame(_ due: PlaybackTimeline.Position) -> (PlaybackTimeline.Position, WebImage)? {
        if hasOwnFrame, due.frame == currentFrameIndex { return (due, currentFrame) }
        if let frame = buffer.frame(due.frame) { return (due, frame) }
        guard let shownStep, due.step - 1 > shownStep else { return nil }
        let earliest = max(shownStep + 1, due.step - timeline.stepsPerLoop)
        let steps = (earliest..<due.step).reversed()
        let frames = steps.lazy.map { [timeline] in timeline.frame(ofStep: $0) }
        guard let (place, frame) = buffer.firstBuffered(of: frames) else { return nil }
        var position = due
        position.step = due.step - 1 - place
        position.frame = timeline.frame(ofStep: position.step)
        position.loop = position.step / timeline.stepsPerLoop
        return (position, frame)
    }

    /// Ends playback after the last loop. The current frame stays.
    private func finish() {
        guard !isFinished else { return }
        // The position is the exact end, however late this call is: if more frames arrive, playback continues there.
        anchor = (min(elapsed, timeline.totalDuration ?? elapsed), clock.now)
        activity = .finished
        buffer.rest(shown: currentFrameIndex)
        if image.isPartial {
            // The frames that arrive next are drawn on those before.
            releaseWhileNothingMoves()
        } else {
            // Another round begins with the first frame, which needs nothing of those before.
            buffer.releaseDecoderMemory()
        }
    }
}

/// A weak reference to the player for the frame buffer. Only the main thread reads it.
@MainActor
private final class PlayerLink {
    weak var player: AnimationPlayer?
    nonisolated init() {}
}
