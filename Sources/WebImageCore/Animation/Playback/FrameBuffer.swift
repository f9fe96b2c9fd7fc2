import Dispatch
import Synchronization

/// The frames of one animation that are decoded ahead, one after the other on the decode queue.
package final class FrameBuffer: Sendable {
    /// The frames that every animation may keep: the current and the next one.
    private static let guaranteedCount = 2
    /// The longest run of frames that is decoded forwards for backwards playback.
    private static let maximumRunLength = 8
    /// The failures in a row after which a frame counts as damaged that only the system keeps from being decoded.
    private static let mostFailures = 10
    /// The longest time that the decoder spends on the way to a frame before it hands out the one that it has reached.
    package static let longestStep = Duration.milliseconds(20)

    private let bytesPerFrame: Int
    private let queue: WorkQueue
    private let budget: AnimationBudget
    private let preparation: (any DisplayPreparation)?
    private let maximumByteCount: Int
    private let wholeByteCount: Int
    private let state: Mutex<State>
    /// Whether the decoder keeps memory between frames.
    let keepsDecoderMemory: Bool
    private let longestStep: Duration
    /// The handler that is called on the queue when the awaited frame, or one on the way to it, is ready or turns out to
    /// be damaged.
    private let onFrame: @Sendable () -> Void

    /// - Parameters:
    ///   - maximumByteCount: The limit in bytes for this animation.
    ///   - wholeByteCount: The size in bytes up to which all frames of an animation are kept.
    ///   - longestStep: The longest time that the decoder spends on the way to a frame.
    package init(
        _ image: WebImage,
        _ animation: ImageAnimation,
        queue: WorkQueue,
        budget: AnimationBudget,
        preparation: (any DisplayPreparation)?,
        maximumByteCount: Int,
        wholeByteCount: Int,
        longestStep: Duration = FrameBuffer.longestStep,
        onFrame: @escaping @Sendable () -> Void
    ) {
        self.queue = queue
        self.budget = budget
        self.preparation = preparation
        self.maximumByteCount = maximumByteCount
        self.longestStep = longestStep
        self.onFrame = onFrame
        self.wholeByteCount = min(wholeByteCount, maximumByteCount)
        bytesPerFrame = animation.bytesPerFrame
        let decoder = animation.makeDecoder()
        keepsDecoderMemory = decoder is any InterruptibleFrameDecoding
        state = Mutex(
            State(
                image: image,
                animation: animation,
                decoder: decoder,
                end: animation.frameCount,
                keepsAllFrames: animation.byteCountOfFrames <= self.wholeByteCount
            )
        )
        budget.add(self)
    }

    deinit {
        close()
        budget.remove(self)
    }

    /// Drops all frames and stops decoding.
    package func close() {
        let wait = state.withLock { state in
            state.isClosed = true
            state.requested = []
            dropFrames(except: [], &state)
            // The frame being decoded is charged as well.
            for index in state.budgetedFrames { releaseBudget(of: index, &state) }
            return exchange(&state.wait, with: nil)
        }
        if let wait, let ticket = wait.ticket { wait.budget?.cancel(ticket) }
    }

    /// Goes on with an image of the same file of which more frames have arrived. The frames that are decoded stay, and the decoder
    /// goes on where it is.
    /// - Returns: `false` when the frames are not those of the present image.
    func grow(to image: WebImage, _ animation: ImageAnimation) -> Bool {
        guard animation.continues(state.withLock { $0.animation }) else { return false }
        let decoder = animation.makeDecoder()
        let (replaced, isIdle) = state.withLock { state in
            let replaced = (state.image, state.animation, state.nextDecoder)
            (state.image, state.animation, state.nextDecoder) = (image, animation, decoder)
            state.end = animation.frameCount
            if animation.byteCountOfFrames > wholeByteCount { state.keepsAllFrames = false }
            return (replaced, startTending(&state))
        }
        // The transformers of the app are released with the lock free.
        withExtendedLifetime(replaced) {}
        // The decoder before keeps what had arrived of the file.
        if isIdle { submitTending() }
        return true
    }

    /// The number of intact frames, as far as it is known.
    package var end: Int { state.withLock { $0.end } }

    /// Whether no frame can be decoded before another animation gives memory for a canvas back, or the system can do more again.
    var waitsForMemory: Bool { state.withLock { $0.wait != nil } }

    /// Returns a frame if it is decoded. If not, `onFrame` is called once it is.
    package func frame(_ index: Int) -> WebImage? {
        state.withLock { state in
            if index == 0 { return state.image }
            let frame = state.frames[index]
            state.awaited = frame == nil && index < state.end ? index : nil
            return frame
        }
    }

    /// Returns the first of the frames that is decoded, and its place among them. Frame 0, which is always there, counts
    /// when no other one is decoded.
    func firstBuffered(of frames: some Sequence<Int>) -> (place: Int, frame: WebImage)? {
        var start: Int?
        return state.withLock { state in
            for (place, index) in frames.enumerated() {
                if index == 0 {
                    start = start ?? place
                } else if let frame = state.frames[index] {
                    return (place, frame)
                }
            }
            return start.map { ($0, state.image) }
        }
    }

    /// Replaces the requested frames, given with the most urgent first. Other frames are dropped, unless the animation is small
    /// enough to keep all of them, or paused: then they stay as long as no other one needs their room.
    /// - Parameter shown: The frame that the player shows, which need not be decoded again.
    package func request(_ frames: [Int], shown: Int?, isPaused: Bool = false) {
        request(frames, shown: shown, isResting: isPaused, keepsOthers: isPaused)
    }

    private func request(_ frames: [Int], shown: Int?, isResting: Bool, keepsOthers: Bool = false) {
        let (isIdle, isOther, lacksRoom) = state.withLock { state -> (Bool, Bool, Bool) in
            guard !state.isClosed else { return (false, false, false) }
            let isOther = exchange(&state.isResting, with: isResting) != isResting
            state.lacksRoom = false
            reconsiderKeeping(&state)
            if !isResting { state.isReleaseDue = false }
            var requested: [Int] = []
            for frame in frames where frame != 0 && !requested.contains(frame) { requested.append(frame) }
            state.requested = requested
            state.shown = shown
            if let awaited = state.awaited, !requested.contains(awaited) { state.awaited = nil }
            if !state.keepsAllFrames, !keepsOthers { dropFrames(except: Set(requested), &state) }
            leaveFairShare(&state)
            return (beginDecoding(&state), isOther, state.lacksRoom)
        }
        if isOther { budget.setActive(!isResting, self) }
        if isIdle {
            queue.submit { [weak self] in self?.decode() }
        } else if lacksRoom {
            // Many frames may go, which takes time.
            queue.submit { [weak self] in
                if self?.makeRoom() == true { self?.decode() }
            }
        }
    }

    /// Has animations that are hidden or finished give up their frames for those that this one lacks.
    /// - Returns: Whether there is a frame to decode now.
    private func makeRoom() -> Bool {
        guard budget.clearResting() else { return false }
        return state.withLock { beginDecoding(&$0) }
    }

    /// Keeps all frames of a small animation again once there may be room for them.
    private func reconsiderKeeping(_ state: inout State) {
        guard let since = state.crowdedSince, since != budget.departureCount,
            state.animation.byteCountOfFrames <= wholeByteCount
        else { return }
        (state.keepsAllFrames, state.crowdedSince) = (true, nil)
    }

    /// Drops the frames that are kept for the next loop, because those that are due come first. Some of them would be of no use:
    /// the decoder would have to pass them all the same to get to the first one that is missing.
    private func stopKeeping(_ state: inout State) {
        (state.keepsAllFrames, state.crowdedSince) = (false, budget.departureCount)
        dropFrames(except: Set(state.requested), &state)
    }

    /// Chooses the frame to decode next, unless something keeps the decoder busy.
    /// - Returns: Whether there is one.
    private func beginDecoding(_ state: inout State) -> Bool {
        guard !state.isClosed, state.decoding == nil, !state.isTending, state.wait == nil, needsRefill(state)
        else { return false }
        state.decoding = nextMissing(&state)
        return state.decoding != nil
    }

    /// Drops the least urgent frames where another animation has less than its share of the budget.
    private func leaveFairShare(_ state: inout State) {
        guard let share = budget.shareInShortage else { return }
        let bytes = bytesPerFrame
        // Frames that are kept for the next loop come first.
        let kept = Array(state.budgetedFrames.subtracting(state.requested))
        if state.keepsAllFrames, state.budgetedFrames.count * bytes > share {
            (state.keepsAllFrames, state.crowdedSince) = (false, budget.departureCount)
        }
        for index in kept + state.requested.reversed() where state.budgetedFrames.count * bytes > share {
            guard index != state.decoding, state.budgetedFrames.contains(index) else { continue }
            state.frames[index] = nil
            releaseBudget(of: index, &state)
        }
    }

    /// Drops the frames beyond those that every animation may keep; where it is hidden or finished also the memory of the
    /// decoder. Playback goes on, with frames that are decoded again.
    func purge() {
        let (dropped, isResting) = state.withLock { state in
            let frames = state.frames
            dropFrames(except: Set(state.requested.prefix(Self.guaranteedCount)), &state)
            return (frames, state.isResting)
        }
        // Frames are released with the lock free.
        withExtendedLifetime(dropped) {}
        if isResting { releaseDecoderMemory() }
    }

    /// Drops the frames beyond those that every animation may keep, if the animation is hidden or finished.
    func clearWhileResting() {
        let dropped = state.withLock { state in
            guard state.isResting else { return [:] }
            let frames = state.frames
            dropFrames(except: Set(state.requested.prefix(Self.guaranteedCount)), &state)
            return frames
        }
        // Frames are released with the lock free.
        withExtendedLifetime(dropped) {}
    }

    /// Stops decoding, and drops all frames but the one on display, unless the animation is small enough to keep all of them.
    package func rest(shown: Int) {
        request([shown], shown: shown, isResting: true)
    }

    /// Has the decoder give its memory back, once it has decoded the frame that it is about to. The frames stay. A request
    /// of ``request(_:shown:)`` comes before it.
    func releaseDecoderMemory() {
        guard keepsDecoderMemory else { return }
        let isIdle = state.withLock { state in
            // One that waits for memory has none.
            guard !state.isClosed, state.wait?.ticket == nil else { return false }
            state.isReleaseDue = true
            return startTending(&state)
        }
        if isIdle { submitTending() }
    }

    /// Reserves the decoder for the queue, unless something keeps it busy. Then it is tended to after that.
    private func startTending(_ state: inout State) -> Bool {
        guard !state.isClosed, state.decoding == nil, !state.isTending, state.wait?.ticket == nil else { return false }
        state.isTending = true
        return true
    }

    private func submitTending() {
        queue.submit { [weak self] in
            if self?.tend() == true { self?.decode() }
        }
    }

    /// Goes over to the next decoder, and gives the memory of the decoder back if that is due, on the queue.
    /// - Returns: Whether a frame has been requested in the meantime.
    private func tend() -> Bool {
        while true {
            let decoder = currentDecoder()
            if state.withLock({ exchange(&$0.isReleaseDue, with: false) }) {
                (decoder as? any InterruptibleFrameDecoding)?.releaseMemory()
            }
            let hasFrame: Bool? = state.withLock { state in
                guard !state.isReleaseDue, state.nextDecoder == nil else { return nil }
                state.isTending = false
                return beginDecoding(&state)
            }
            if let hasFrame { return hasFrame }
        }
    }

    /// Goes on once there may be memory for the canvas.
    private func retry() {
        let isIdle = state.withLock { state in
            state.wait = nil
            return beginDecoding(&state)
        }
        if isIdle { queue.submit { [weak self] in self?.decode() } }
    }

    /// Whether enough frames are missing to start decoding. Decoding several frames in one go costs fewer wake-ups of the
    /// thread and of the processor.
    private func needsRefill(_ state: State) -> Bool {
        let missing = state.requested.count { isMissing($0, state) }
        return missing * 2 >= state.requested.count || state.requested.prefix(2).contains { isMissing($0, state) }
    }

    private func isMissing(_ frame: Int, _ state: State) -> Bool {
        state.frames[frame] == nil && frame < state.end && frame != state.shown
    }

    private func dropFrames(except kept: Set<Int>, _ state: inout State) {
        for index in Array(state.frames.keys) where !kept.contains(index) {
            state.frames[index] = nil
            releaseBudget(of: index, &state)
        }
        // The remaining frames fit the guaranteed allowance; return their budget.
        if state.frames.count <= Self.guaranteedCount {
            for index in state.frames.keys { releaseBudget(of: index, &state) }
        }
    }

    private func releaseBudget(of index: Int, _ state: inout State) {
        if state.budgetedFrames.remove(index) != nil { budget.release(bytesPerFrame) }
    }

    /// Returns the next frame to decode after charging it to the budget; `nil` if none is missing or the budget is used up.
    private func nextMissing(_ state: inout State) -> Int? {
        state.lacksRoom = false
        guard let next = nextInOrder(state) else { return nil }
        while isOverAllowance(state) {
            let own = state.budgetedFrames.count * bytesPerFrame
            guard own + bytesPerFrame <= maximumByteCount else { return nil }
            if budget.reserve(bytesPerFrame, beside: own) {
                state.budgetedFrames.insert(next)
                break
            }
            guard state.keepsAllFrames else {
                state.lacksRoom = true
                return nil
            }
            stopKeeping(&state)
        }
        return next
    }

    /// Whether the frames that every animation may keep are there, so that another one is charged to the budget.
    private func isOverAllowance(_ state: State) -> Bool {
        state.frames.count { !state.budgetedFrames.contains($0.key) } >= Self.guaranteedCount
    }

    /// Returns the most urgent frame. For backwards playback, it returns the lowest frame of a run, because a decoder only
    /// goes forwards and would start over for each frame.
    private func nextInOrder(_ state: State) -> Int? {
        guard var index = state.requested.firstIndex(where: { isMissing($0, state) }) else { return nil }
        let start = index
        let first = state.requested[index]
        while index + 1 < state.requested.count, state.requested[index + 1] == state.requested[index] - 1,
            isMissing(state.requested[index + 1], state), first - state.requested[index + 1] < Self.maximumRunLength
        {
            index += 1
        }
        let isBackwards = start > 0 && state.requested[start - 1] == first + 1
        let isAtEnd = index + 1 == state.requested.count && state.requested[index] > 1
        let mayGrow = isAtEnd && index - start + 1 < Self.maximumRunLength
        // These frames are not urgent yet, and a longer run decodes more cheaply.
        if isBackwards, mayGrow, start > 2 { return nil }
        return state.requested[index]
    }

    /// Decodes one frame and then yields the thread, so that many animations share the queue evenly. If no other work is
    /// pending it continues at once, because the decoder's data is still in the processor's cache.
    private func decode() {
        while decodeOne() {
            guard queue.pendingCount <= 1 else {
                queue.submit { [weak self] in self?.decode() }
                return
            }
        }
    }

    /// - Returns: Whether another frame is to be decoded.
    private func decodeOne() -> Bool {
        guard let (index, image) = state.withLock({ state in state.decoding.map { ($0, state.image) } }) else {
            return false
        }
        let decoder = currentDecoder()
        let result = Result { () throws(ImageError) in try decodePixels(towards: index, decoder) }
        if case .failure(let error) = result, waits(at: index, decoder, after: error) { return false }
        var decoded: (index: Int, frame: WebImage)?
        if case .success(let (reached, pixels)) = result {
            let frame = image.with { content in
                content.pixels = pixels
                content.animation = nil
                // The frame is whole, whatever is to follow it.
                content.isPartial = false
            }
            preparation?.prepare(frame)
            decoded = (reached, frame)
        }
        let (isExpected, hasMore, lacksRoom, isTending) = state.withLock { state in
            let isExpected: Bool
            if let decoded {
                state.failureCount = 0
                keep(decoded.frame, at: decoded.index, decodedFor: index, in: &state)
                isExpected = state.awaited != nil
            } else {
                releaseBudget(of: index, &state)
                state.end = min(state.end, index)
                isExpected = state.awaited.map { $0 >= state.end } ?? false
            }
            if isExpected { state.awaited = nil }
            state.decoding = state.isClosed ? nil : nextMissing(&state)
            let isTending = (state.isReleaseDue || state.nextDecoder != nil) && startTending(&state)
            return (isExpected, state.decoding != nil, state.lacksRoom, isTending)
        }
        if case .failure(let error) = result {
            WebImageLog.debug("The animation ends before damaged frame \(index): \(error)")
        }
        if isExpected { onFrame() }
        if isTending { return tend() }
        return hasMore || lacksRoom && makeRoom()
    }

    /// The decoder for the frames that there are by now, which goes on where the one before has stopped.
    private func currentDecoder() -> any FrameDecoding {
        let (decoder, next) = state.withLock { ($0.decoder, exchange(&$0.nextDecoder, with: nil)) }
        guard let next else { return decoder }
        (next as? any InterruptibleFrameDecoding)?.takeOver(from: decoder)
        // The one before is released with the lock free.
        return withExtendedLifetime(decoder) {
            state.withLock { $0.decoder = next }
            return next
        }
    }

    /// Waits where a frame lacks nothing but memory for the canvas, which another animation gives back one day, or what the system
    /// is short of for the moment.
    /// - Returns: `false` when the frame cannot be decoded at all.
    private func waits(at index: Int, _ decoder: any FrameDecoding, after error: ImageError) -> Bool {
        let missing = (decoder as? any InterruptibleFrameDecoding)?.missingMemory
        let isPassing = missing.map { $0.byteCount <= $0.budget.lastingLimit }
        guard isPassing ?? [.decoderUnavailable, .imageTooLarge].contains(error.code) else { return false }
        let ticket = missing?.budget.makeTicket()
        let isClosed: Bool? = state.withLock { state in
            if missing == nil { state.failureCount += 1 }
            guard state.failureCount <= Self.mostFailures else { return nil }
            releaseBudget(of: index, &state)
            state.decoding = nil
            if ticket != nil { state.isReleaseDue = false }
            state.wait = state.isClosed ? nil : State.Wait(budget: missing?.budget, ticket: ticket)
            return state.isClosed
        }
        guard let isClosed else { return false }
        guard !isClosed else { return true }
        guard let missing, let ticket else {
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
                self?.retry()
            }
            if state.withLock({ $0.isReleaseDue && startTending(&$0) }) { submitTending() }
            return true
        }
        missing.budget.whenRoom(toKeep: missing.byteCount, ticket: ticket) { [weak self] in self?.retry() }
        // It may have been closed before it waited.
        if state.withLock({ $0.isClosed }) { missing.budget.cancel(ticket) }
        return true
    }

    /// Decodes a frame, or stops at one on the way when that has taken long or nobody wants the frame any more. Others
    /// can use the thread then, and the player shows what there is.
    private func decodePixels(
        towards index: Int,
        _ decoder: any FrameDecoding
    ) throws(ImageError) -> (Int, PixelBuffer) {
        let start = ContinuousClock.now
        return try decoder.frameOrEarlier(index) {
            ContinuousClock.now - start >= longestStep || !isWanted(index)
        }
    }

    /// Whether a frame is still of use. A late one is, even when a later one is requested by now.
    private func isWanted(_ index: Int) -> Bool {
        state.withLock { !$0.isClosed && ($0.awaited != nil || $0.requested.contains(index)) }
    }

    /// Keeps a frame that is requested, or that the player may show because the one that is due takes longer.
    private func keep(_ frame: WebImage, at reached: Int, decodedFor index: Int, in state: inout State) {
        if reached != index {
            // The frame takes the place of the one that it was decoded for.
            if state.budgetedFrames.remove(index) != nil, !state.budgetedFrames.insert(reached).inserted {
                budget.release(bytesPerFrame)
            }
        }
        let isRequested = state.requested.contains(reached)
        guard !state.isClosed, state.keepsAllFrames || isRequested || state.awaited != nil, reached != 0 else {
            return releaseBudget(of: reached, &state)
        }
        // Of frames that are late, only the newest is of use.
        if !state.keepsAllFrames, !isRequested { dropFrames(except: Set(state.requested + [reached]), &state) }
        state.frames[reached] = frame
    }
}
