import Synchronization

/// The frames of one animation that are decoded ahead, one after another on the decode queue.
package final class FrameBuffer: Sendable {
    /// The frames that every animation may keep: the current and the next one.
    private static let guaranteedCount = 2
    /// The longest run of frames that is decoded forwards for backwards playback.
    private static let maximumRunLength = 8
    /// The number of consecutive failures for lack of system resources after which a frame counts as damaged.
    private static let mostFailures = 10
    /// The longest time that the decoder spends on the way to a frame before it returns the one that it has reached.
    package static let longestStep = Duration.milliseconds(20)

    private let bytesPerFrame: Int
    private let queue: WorkQueue
    private let budget: AnimationBudget
    private let maximumByteCount: Int
    private let wholeByteCount: Int
    private let state: Mutex<State>
    /// Whether the decoder keeps memory between frames.
    let keepsDecoderMemory: Bool
    private let longestStep: Duration
    /// Called on the queue when the awaited frame, or one on the way to it, is ready or turns out to be damaged.
    private let onFrame: @Sendable () -> Void

    /// - Parameters:
    ///   - maximumByteCount: The limit in bytes for this animation.
    ///   - wholeByteCount: The largest size in bytes of an animation that keeps all frames.
    ///   - longestStep: The longest time that the decoder may spend on the way to a frame.
    package init(
        _ image: WebImage,
        _ animation: ImageAnimation,
        queue: WorkQueue,
        budget: AnimationBudget,
        maximumByteCount: Int,
        wholeByteCount: Int,
        longestStep: Duration = FrameBuffer.longestStep,
        onFrame: @escaping @Sendable () -> Void
    ) {
        self.queue = queue
        self.budget = budget
        self.maximumByteCount = maximumByteCount
        self.longestStep = longestStep
        self.onFrame = onFrame
        self.wholeByteCount = min(wholeByteCount, maximumByteCount)
        bytesPerFrame = animation.bytesPerFrame
        let decoder = animation.makeInterruptibleDecoder()
        keepsDecoderMemory = decoder.keepsMemory
        state = Mutex(State(image: image, animation: animation, decoder: decoder, end: animation.frameCount))
        budget.add(self)
    }

    deinit {
        close()
        budget.remove(self)
    }

    /// Drops all frames and stops decoding.
    package func close() {
        let activity = state.withLock { state in
            (state.request, state.awaited) = (State.Request(), nil)
            let activity = exchange(&state.activity, with: .closed)
            dropFrames(except: [], &state)
            releaseBudget(&state)
            return activity
        }
        if case .waiting(let wait?) = activity { wait.budget.cancel(wait.ticket) }
    }

    /// Continues with an image of the same file that has more frames. Decoded frames are kept, and the decoder
    /// continues where it is.
    /// - Returns: `false` if its frames are not those of the current image.
    func grow(to image: WebImage, _ animation: ImageAnimation) -> Bool {
        guard animation.continues(state.withLock { $0.animation }) else { return false }
        let decoder = animation.makeInterruptibleDecoder()
        let replaced = change { state in
            let replaced = (state.image, state.animation, state.nextDecoder)
            (state.image, state.animation, state.nextDecoder) = (image, animation, decoder)
            state.end = animation.frameCount
            return replaced
        }
        // The transformers of the app are released while the lock is free.
        return withExtendedLifetime(replaced) { true }
    }

    /// The number of intact frames, as far as it is known.
    package var end: Int { state.withLock { $0.end } }

    /// Whether no frame can be decoded until another animation releases memory, or the system has resources again.
    var waitsForMemory: Bool { state.withLock { if case .waiting = $0.activity { true } else { false } } }

    /// Returns a frame if it is decoded.
    package func frame(_ index: Int) -> WebImage? { state.withLock { $0.frame(index) } }

    // The requested frames.

    /// Stops decoding, and drops all frames except the displayed one, unless the animation is small enough to keep all of them.
    package func rest(shown: Int) { request([shown], shown: shown, isResting: true) }

    /// Replaces the requested frames. Other frames are dropped, unless the animation is small enough to keep all of them.
    /// - Parameters:
    ///   - frames: The frame that is due, followed by the next ones.
    ///   - earlier: The frames that may be shown until the due frame is decoded, the best first.
    ///   - shown: The frame that the player shows, which need not be decoded again.
    ///   - isResting: Whether the animation is hidden, finished or paused.
    ///   - keepsOthers: Whether other frames stay until another animation needs the memory.
    /// - Returns: The frame to show, with its place before the due frame, and the number of intact frames. If the due frame is
    ///   not decoded, `onFrame` is called once it is.
    @discardableResult
    package func request(
        _ frames: [Int],
        earlier: some Sequence<Int> = EmptyCollection(),
        shown: Int?,
        isResting: Bool = false,
        keepsOthers: Bool = false
    ) -> (newest: (place: Int, frame: WebImage)?, end: Int) {
        var requested: [Int] = []
        for frame in frames where frame != 0 && !requested.contains(frame) { requested.append(frame) }
        return change { state in
            guard !state.isClosed, let due = frames.first else { return (nil, state.end) }
            let request = State.Request(frames: requested, shown: shown, isResting: isResting)
            let old = exchange(&state.request, with: request)
            if isResting != old.isResting { budget.setActive(!isResting, self) }
            if !isResting { state.isReleaseDue = false }
            let newest = state.frame(due).map { (0, $0) } ?? state.newest(of: earlier)
            let isAwaited = newest?.0 != 0 && due < state.end && due != shown
            state.awaited = isAwaited ? due : nil
            // There may be room again for all frames of a small animation.
            if let since = state.crowdedSince, since != budget.departureCount { state.crowdedSince = nil }
            if !keepsAllFrames(state), !keepsOthers { dropFrames(except: requested, &state) }
            // While the animation plays, the next frames take the place of those that were shown.
            if isResting { releaseBudget(&state) }
            return (newest, state.end)
        }
    }

    /// Makes the decoder release its memory after it has decoded the missing frames. The frames are kept. A call of
    /// ``request(_:shown:isResting:keepsOthers:)`` takes precedence.
    func releaseDecoderMemory() {
        if keepsDecoderMemory { change { $0.isReleaseDue = true } }
    }

    /// Drops the frames beyond the guaranteed ones, and the memory of the decoder if the animation is hidden or
    /// finished. Playback continues, with frames that are decoded again.
    func purge() {
        if dropFrames(beyond: 0) { releaseDecoderMemory() }
    }

    /// Drops frames beyond the guaranteed ones, the least urgent first.
    /// - Parameters:
    ///   - byteCount: The bytes that the animation may keep.
    ///   - ifResting: Whether an animation that plays keeps its frames.
    /// - Returns: Whether the animation is hidden or finished.
    @discardableResult
    func dropFrames(beyond byteCount: Int, ifResting: Bool = false) -> Bool {
        let (frames, isResting) = state.withLock { state in
            let (frames, request) = (state.frames, state.request)
            if request.isResting || !ifResting, state.chargedCount * bytesPerFrame > byteCount {
                dropFrames(except: request.frames, &state)
                releaseBudget(&state)
                for index in request.frames.dropFirst(Self.guaranteedCount).reversed()
                where state.chargedCount * bytesPerFrame > byteCount {
                    state.frames[index] = nil
                    releaseBudget(&state)
                }
            }
            return (frames, request.isResting)
        }
        // The frames are released while the lock is free.
        return withExtendedLifetime(frames) { isResting }
    }

    /// Changes the state, and submits the decoder if it is idle and has work.
    private func change<Value>(_ body: (inout State) -> Value) -> Value {
        let (value, isDue) = state.withLock { state in
            let value = body(&state)
            guard case .idle = state.activity,
                needsRefill(state) || state.isReleaseDue || state.nextDecoder != nil
            else { return (value, false) }
            state.activity = .running
            return (value, true)
        }
        if isDue { submit(isRefilling: false) }
        return value
    }

    // The memory for frames.

    /// Whether frames are kept for the next loop after they were shown.
    private func keepsAllFrames(_ state: State) -> Bool {
        state.crowdedSince == nil && state.animation.byteCountOfFrames <= wholeByteCount
    }

    /// Drops the frames kept for the next loop, because due frames are more important. Keeping only some of them would
    /// be of no use, because the decoder would still have to pass them on the way to the first missing frame.
    private func stopKeeping(_ state: inout State) {
        state.crowdedSince = budget.departureCount
        dropFrames(except: state.request.frames, &state)
        releaseBudget(&state)
    }

    private func dropFrames(except kept: some Sequence<Int>, _ state: inout State) {
        for index in state.frames.keys where !kept.contains(index) { state.frames[index] = nil }
    }

    /// Gives back the charges that exceed the number of frames, including the one being decoded.
    private func releaseBudget(_ state: inout State) {
        var count = state.frames.count - Self.guaranteedCount
        if case .decoding = state.activity { count += 1 }
        let surplus = state.chargedCount - max(count, 0)
        guard surplus > 0 else { return }
        state.chargedCount -= surplus
        budget.release(surplus * bytesPerFrame)
    }

    // The order of decoding.

    /// Whether enough frames are missing to start decoding. Decoding several frames at once wakes the thread and the
    /// processor less often.
    private func needsRefill(_ state: State) -> Bool {
        let frames = state.request.frames
        let missing = frames.count { state.isMissing($0) }
        return missing > 0 && (missing * 2 >= frames.count || frames.prefix(2).contains { state.isMissing($0) })
    }

    /// Charges the next frame to decode to the budget.
    /// - Returns: `nil` if no frame is missing, or the animation may not have more.
    private func nextFrame(_ state: inout State) -> Step? {
        guard !state.request.lacksRoom, let next = nextInOrder(state) else { return nil }
        while state.frames.count - state.chargedCount >= Self.guaranteedCount {
            let own = state.chargedCount * bytesPerFrame
            guard own + bytesPerFrame <= maximumByteCount else { return nil }
            if budget.reserve(bytesPerFrame, beside: own) {
                state.chargedCount += 1
                break
            }
            guard keepsAllFrames(state) else {
                state.request.lacksRoom = true
                return .makeRoom
            }
            stopKeeping(&state)
        }
        state.activity = .decoding
        return .decode(next, state.image)
    }

    /// Returns the most urgent frame. For backwards playback, it returns the lowest frame of a run, because a decoder
    /// only moves forwards and would start over for each frame.
    private func nextInOrder(_ state: State) -> Int? {
        let requested = state.request.frames
        guard var index = requested.firstIndex(where: { state.isMissing($0) }) else { return nil }
        let start = index
        let first = requested[index]
        while index + 1 < requested.count, requested[index + 1] == requested[index] - 1,
            state.isMissing(requested[index + 1]), first - requested[index + 1] < Self.maximumRunLength
        {
            index += 1
        }
        let isBackwards = start > 0 && requested[start - 1] == first + 1
        let isAtEnd = index + 1 == requested.count && requested[index] > 1
        let mayGrow = isAtEnd && index - start + 1 < Self.maximumRunLength
        // These frames are not urgent yet, and a longer run costs less for each frame.
        if isBackwards, mayGrow, start > 2 { return nil }
        return requested[index]
    }

    // The decoder, on the queue.

    private enum Step {
        case takeOver(from: any InterruptibleFrameDecoding)
        case decode(Int, WebImage)
        /// Other animations must give up frames for this one.
        case makeRoom
        case releaseMemory
    }

    private func submit(isRefilling: Bool) {
        queue.submit { [weak self] in self?.run(isRefilling: isRefilling) }
    }

    /// Runs the decoder until nothing is left to do. It yields the thread after each frame, so that many animations
    /// share the queue evenly. If no other work is pending it continues at once, because the decoder's data is still in
    /// the processor's cache.
    /// - Parameter isRefilling: Whether all missing frames are decoded, even if they are few.
    private func run(isRefilling: Bool) {
        var isRefilling = isRefilling
        while true {
            let (step, decoder) = state.withLock { (nextStep(isRefilling, &$0), $0.decoder) }
            switch step {
            case nil: return
            case .takeOver(let old): decoder.takeOver(from: old)
            case .releaseMemory: decoder.releaseMemory()
            case .makeRoom: if budget.makeRoom() { state.withLock { $0.request.lacksRoom = false } }
            case .decode(let index, let image):
                guard decode(index, of: image, decoder) else { return }
                if queue.pendingCount > 1 { return submit(isRefilling: true) }
                isRefilling = true
            }
        }
    }

    private func nextStep(_ isRefilling: Bool, _ state: inout State) -> Step? {
        guard !state.isClosed else { return nil }
        state.activity = .running
        if let next = state.nextDecoder.take() { return .takeOver(from: exchange(&state.decoder, with: next)) }
        if isRefilling || needsRefill(state), let step = nextFrame(&state) { return step }
        releaseBudget(&state)
        if exchange(&state.isReleaseDue, with: false) { return .releaseMemory }
        state.activity = .idle
        return nil
    }

    /// Decodes a frame, or stops at one on the way.
    /// - Returns: `false` if the decoder waits.
    private func decode(_ index: Int, of image: WebImage, _ decoder: any InterruptibleFrameDecoding) -> Bool {
        let isExpected: Bool
        do throws(ImageError) {
            let start = ContinuousClock.now
            // A decode that takes long leaves the thread to others, and the player shows what is available.
            let (reached, pixels) = try decoder.frame(towards: index) {
                ContinuousClock.now - start >= longestStep || !isWanted(index)
            }
            let frame = image.with { content in
                content.pixels = pixels
                content.animation = nil
                // The frame is complete, even if more frames will arrive.
                content.isPartial = false
            }
            isExpected = state.withLock { state in
                state.failureCount = 0
                keep(frame, at: reached, in: &state)
                return state.awaited.take() != nil
            }
        } catch {
            if waits(for: decoder, after: error) { return false }
            isExpected = state.withLock { state in
                state.end = min(state.end, index)
                guard let awaited = state.awaited, awaited >= state.end else { return false }
                state.awaited = nil
                return true
            }
            WebImageLog.debug("The animation ends before damaged frame \(index): \(error)")
        }
        if isExpected { onFrame() }
        return true
    }

    /// Suspends decoding if only memory for the canvas, which another animation will release, or a temporary system
    /// resource is missing.
    /// - Returns: `false` if the frame cannot be decoded at all.
    private func waits(for decoder: any InterruptibleFrameDecoding, after error: ImageError) -> Bool {
        let missing = decoder.missingMemory
        let isPassing = missing.map { $0.byteCount <= $0.budget.lastingLimit }
        guard isPassing ?? [.decoderUnavailable, .imageTooLarge].contains(error.code) else { return false }
        let wait = missing.map { (budget: $0.budget, ticket: $0.budget.makeTicket()) }
        let waits = state.withLock { state in
            if missing == nil { state.failureCount += 1 }
            guard state.failureCount <= Self.mostFailures else { return false }
            if !state.isClosed { state.activity = .waiting(wait) }
            releaseBudget(&state)
            return true
        }
        guard waits else { return false }
        let goOn = { @Sendable [weak self] () -> Void in
            self?.change { if !$0.isClosed { $0.activity = .idle } }
        }
        if let missing, let wait {
            wait.budget.whenRoom(toKeep: missing.byteCount, ticket: wait.ticket, goOn)
            // The buffer may have been closed before the ticket was waiting.
            if state.withLock({ $0.isClosed }) { wait.budget.cancel(wait.ticket) }
        } else {
            SystemClock().run(after: .seconds(1), goOn)
        }
        return true
    }

    /// Whether a frame is still of use. A late frame is, even if a later one has been requested since.
    private func isWanted(_ index: Int) -> Bool {
        state.withLock { $0.awaited != nil || $0.request.frames.contains(index) }
    }

    /// Keeps a frame that is requested, or that the player may show because the due frame takes longer.
    private func keep(_ frame: WebImage, at index: Int, in state: inout State) {
        let isRequested = state.request.frames.contains(index)
        let keepsAll = keepsAllFrames(state)
        guard !state.isClosed, keepsAll || isRequested || state.awaited != nil, index != 0 else { return }
        // Of the late frames, only the newest is of use.
        if !keepsAll, !isRequested { dropFrames(except: state.request.frames, &state) }
        state.frames[index] = frame
    }
}
