/// Plays an animated image: determines the frame that is due, and has frames decoded ahead in the background.
///
/// Playback follows the clock: late frames are skipped, so that nothing drifts. If decoding is slower than playback,
/// the player shows the available frames, and each loop waits for the end of the previous one. The player wakes up only
/// when a frame is due. A widget creates its own player (`ImageBinding.player`). Use all members on the main
/// thread.
@preconcurrency @MainActor
public final class AnimationPlayer {
    private enum Activity { case paused, playing, finished }

    /// The animated image. It is replaced as more frames of the file arrive, or if a widget needs more pixels.
    public private(set) var image: WebImage
    /// The initializer and ``show(_:)`` check that the image is animated.
    private var animation: ImageAnimation { image.animation! }
    private let clock: any PlaybackClock
    private let makeBuffer: (WebImage, ImageAnimation, ImagePlayback) -> FrameBuffer
    private var buffer: FrameBuffer!
    /// The schedule of the frames before the first damaged one, as far as known.
    private var timeline: PlaybackTimeline
    private var settings: ImagePlayback

    /// The current frame; the image itself before the first frame is decoded.
    public private(set) var currentFrame: WebImage
    /// The index of the current frame.
    public private(set) var currentFrameIndex = 0
    /// The target of a jump that is not on display yet.
    private var soughtFrame: Int?
    /// The number of completed loops.
    public private(set) var currentLoop = 0
    private var activity = Activity.paused
    /// Whether playback was started and not paused. Frames advance only while the player is visible.
    public var isPlaying: Bool { activity == .playing }
    /// Whether all loops are completed.
    public var isFinished: Bool { activity == .finished }

    /// Called with the index of each frame when it becomes current.
    public var onFrame: (@MainActor (_ index: Int) -> Void)?
    /// Called at the end of each loop with the number of completed loops.
    public var onLoop: (@MainActor (_ loop: Int) -> Void)?
    /// Called when another frame must be drawn.
    package var onChange: (() -> Void)?

    /// The playback position at one time of the clock. Positions are computed from this pair. Without a time, the
    /// position is fixed until there is memory for a canvas.
    private var anchor: (elapsed: Duration, time: Double?) = (.zero, 0)
    /// The step of the current frame; `nil` after a jump, when only the frame due may be shown.
    private var shownStep: Int?
    /// Whether the current frame belongs to the image, rather than to an earlier image with fewer pixels or frames.
    private var hasOwnFrame = true
    /// Whether the frame that was due at the last update was not decoded.
    private var isLate = false
    /// The number of updates. It shows whether a handler has caused another update.
    private var updateCount = 0
    /// Whether only the system settings prevent playback: the player was not played, paused or stopped since then.
    package var isHeld = false
    private var isVisible = true
    private var cancelCall: (@MainActor () -> Void)?
    private var cancelRelease: (@MainActor () -> Void)?
    /// How many seconds an invisible or paused animation keeps what it needs to resume at once: longer than a row is
    /// out of view while the user scrolls up and down.
    private static let releaseDelay = 10.0

    /// - Parameters:
    ///   - queue: The queue that decodes the frames.
    ///   - dispatcher: Dispatches to the main thread.
    ///   - wholeByteCount: The largest size in bytes of an animation that keeps all decoded frames.
    ///   - longestStep: The longest time that the decoder may spend on the way to a frame.
    /// - Returns: `nil` if the image is not animated.
    package init?(
        _ image: WebImage,
        _ settings: ImagePlayback,
        clock: any PlaybackClock,
        queue: WorkQueue,
        budget: AnimationBudget,
        dispatcher: any CallbackDispatching,
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

    /// Rebuilds the timeline so that playback continues at the current frame, or starts with the first frame of its order.
    /// - Parameters:
    ///   - frameCount: The number of intact frames.
    ///   - keepsOrder: Whether the order of the frames is unchanged, so that a finished animation stays at the end of a loop.
    private func rebuildTimeline(frameCount: Int, keepsOrder: Bool) {
        let isAtStart = !isPlaying && !isFinished && anchor.elapsed == .zero
        timeline = Self.timeline(of: image, durations: Array(animation.durations.prefix(frameCount)), settings)
        var start = isAtStart ? .zero : timeline.start(ofFrame: currentFrameIndex, loop: loopOnDisplay) ?? .zero
        if isFinished, keepsOrder, timeline.frame(ofStep: 0) == currentFrameIndex {
            // A bounce ends with the frame that starts the next loop.
            start = timeline.loopDuration * timeline.bounded(loop: currentLoop)
        }
        anchor = (start, clock.now)
    }

    /// The loop of the current frame. A finished animation shows the end of its last loop.
    private var loopOnDisplay: Int { isFinished ? currentLoop - 1 : currentLoop }

    /// Continues at the current position with an image of the same animation that has more pixels or frames.
    package func show(_ image: WebImage) {
        guard image != self.image, let animation = image.animation else { return }
        // A partial animation has only reached the last frame that had arrived.
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
        // The displayed frame stays until the new image's frame is decoded.
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
                // If the current frame is also the last one in the new order, nothing is left to play.
                if isFinished, !timeline.isLast(duePosition) { activity = .paused }
                if isFinished { anchor.elapsed = timeline.totalDuration ?? anchor.elapsed }
            } else {
                anchor = (elapsed, clock.now)
            }
            shownStep = nil
            update()
        }
    }

    /// Starts or resumes playback. A finished animation starts over, unless you have jumped to one of its frames since.
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
        request(isPaused: true)
        releaseWhileNothingMoves()
    }

    /// Stops playback at the first frame, and drops decoded frames unless the animation is small enough to keep all of
    /// them.
    public func stop() {
        pause()
        (currentLoop, shownStep, activity) = (0, nil, .paused)
        soughtFrame = timeline.frame(ofStep: 0)
        anchor = (.zero, clock.now)
        buffer.rest(shown: currentFrameIndex)
        update()
    }

    /// Jumps to a frame, which appears once it is decoded. A playing player continues from there. A paused or finished
    /// player stays at the frame until you call ``play()``, which continues from there.
    /// - Parameters:
    ///   - frame: The index of the frame. An invalid index is ignored.
    ///   - loop: The loop to jump to, limited to the loops that exist. Default: the current loop, or the last one if
    ///     the animation has finished.
    public func seek(to frame: Int, loop: Int? = nil) {
        let loop = timeline.nearest(loop: loop ?? loopOnDisplay)
        guard let start = timeline.start(ofFrame: frame, loop: loop) else { return }
        if isFinished { activity = .paused }
        (currentLoop, soughtFrame) = (loop, frame)
        anchor = (start, clock.now)
        shownStep = nil
        update()
    }

    /// Steps by a number of frames in file order, or backwards if it is negative. Steps wrap around at both ends.
    public func step(by count: Int = 1) {
        let next = ((soughtFrame ?? currentFrameIndex) + count % timeline.frameCount) % timeline.frameCount
        seek(to: next < 0 ? next + timeline.frameCount : next)
    }

    /// Sets whether the animation is visible. An invisible animation pauses and keeps only its current frame, unless it
    /// is small enough to keep all of them.
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

    /// Releases the canvas after nothing has moved for a while, because other animations may wait for the memory.
    private func releaseWhileNothingMoves() {
        // Updates while the animation is hidden do not restart the delay.
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

    /// The rate, limited to values that times can be computed from.
    private var rate: Double { settings.rate.bounded(to: 0...1_000_000, ifNaN: 0) }

    private var elapsed: Duration {
        guard isRunning, let time = anchor.time else { return anchor.elapsed }
        return anchor.elapsed + .bounded(seconds: (clock.now - time) * rate)
    }

    /// The playback time for what is due, with 0.5 ms of slack because rounding may wake the player slightly early.
    private var dueTime: Duration { elapsed + .microseconds(500) }
    private var duePosition: PlaybackTimeline.Position { timeline.position(at: dueTime) }

    /// The number of frames to decode ahead. While nothing moves, one frame is kept ready for a step.
    private var lookahead: Int {
        guard isRunning else { return isPlaying ? 0 : 1 }
        // Half a second is the longest delay to expect on a busy machine.
        let average = timeline.loopDuration / .seconds(1) / Double(max(frameCount, 1)) / max(rate, 0.01)
        return min(max(Int(bounded: 0.5 / max(average, 0.001)), 3), 30)
    }

    /// The position to pause at: the displayed frame if later frames are not decoded yet.
    private var shownElapsed: Duration {
        guard isLate, let shownStep else { return elapsed }
        return min(timeline.start(ofStep: shownStep), elapsed)
    }

    /// Requests the frame that is due and those that follow, shows it, and schedules the next update.
    func update() {
        cancelCall.take()?()
        anchor.time = anchor.time ?? clock.now
        waitForDecoder()
        let (position, newest, end) = request()
        guard end > 1 else { return finish() }
        if end < timeline.frameCount {
            // The frames from here on are damaged, so the animation becomes shorter.
            rebuildTimeline(frameCount: end, keepsOrder: true)
            shownStep = nil
            return update()
        }
        updateCount += 1
        let number = updateCount
        if position.step != shownStep { show(position, newest) }
        // A handler of the app has jumped elsewhere, and that jump has already run an update.
        guard number == updateCount else { return }
        isLate = isRunning && position.step != shownStep
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

    /// Stops the clock at the end of the displayed frame until there is memory for a canvas, which may take minutes. No
    /// frame is skipped in that time, and only the frame wakes the player.
    private func waitForMemory() {
        let next = shownStep.map { timeline.start(ofStep: $0 + 1) }
        anchor = (min(next ?? elapsed, elapsed), nil)
        if request().newest?.place == 0 { update() }
    }

    /// Stops the clock if a slow decoder would never catch up: at the target of a jump, which would move away, and at
    /// the end of a loop, whose last frames would never be shown.
    private func waitForDecoder() {
        guard isLate, isRunning else { return }
        if shownStep == nil {
            anchor.time = clock.now
        } else if duePosition.loop > currentLoop {
            anchor = (timeline.startOfLastFrame(inLoop: currentLoop), clock.now)
        }
    }

    /// Requests the frame that is due and those after it, unless the animation is hidden.
    /// - Returns: The position that is due; the frame to show, with the number of steps that it is late; and the number of intact
    ///   frames. If decoding is too slow, frames are skipped, but the animation still moves.
    @discardableResult
    private func request(
        isPaused: Bool = false
    ) -> (due: PlaybackTimeline.Position, newest: (place: Int, frame: WebImage)?, end: Int) {
        let (due, frames) = timeline.schedule(at: dueTime, ahead: lookahead)
        guard isVisible else { return (due, buffer.frame(due.frame).map { (0, $0) }, buffer.end) }
        let earliest = shownStep.map { max($0 + 1, due.step - timeline.stepsPerLoop) } ?? due.step
        let steps = (min(earliest, due.step)..<due.step).reversed()
        let (newest, end) = buffer.request(
            frames,
            earlier: steps.lazy.map { [timeline] in timeline.frame(ofStep: $0) },
            shown: hasOwnFrame ? currentFrameIndex : nil,
            isResting: isPaused,
            keepsOthers: isPaused
        )
        return (due, newest, end)
    }

    /// - Parameter newest: The frame to show, with the number of steps that it is late.
    private func show(_ due: PlaybackTimeline.Position, _ newest: (place: Int, frame: WebImage)?) {
        let isShown = hasOwnFrame && due.frame == currentFrameIndex
        guard let (late, frame) = isShown ? (0, currentFrame) : newest else { return }
        let step = due.step - late
        let isNewFrame = currentFrame != frame
        currentFrame = frame
        hasOwnFrame = true
        currentFrameIndex = late == 0 ? due.frame : timeline.frame(ofStep: step)
        soughtFrame = nil
        shownStep = step
        let loop = late == 0 ? due.loop : step / timeline.stepsPerLoop
        let loops = loop - currentLoop
        currentLoop = loop
        let number = updateCount
        if isNewFrame {
            onChange?()
            onFrame?(currentFrameIndex)
        }
        // A handler may have jumped elsewhere.
        if loops > 0, number == updateCount { onLoop?(loop) }
    }

    /// Ends playback after the last loop. The current frame stays.
    private func finish() {
        guard !isFinished else { return }
        // The position is the exact end even if this call is late: if more frames arrive, playback continues there.
        anchor = (min(elapsed, timeline.totalDuration ?? elapsed), clock.now)
        activity = .finished
        buffer.rest(shown: currentFrameIndex)
        if image.isPartial {
            // The frames that arrive next are drawn over the earlier ones.
            releaseWhileNothingMoves()
        } else {
            // Another run starts with the first frame, which does not need the earlier frames.
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
