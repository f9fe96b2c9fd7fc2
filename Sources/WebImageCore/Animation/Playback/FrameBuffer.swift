import Synchronization

/// The frames of one animation that are decoded ahead, one after the other on the decode queue.
package final class FrameBuffer: Sendable {
    private struct State {
        /// Decoded frames by index; frame 0 is kept apart.
        var frames: [Int: WebImage] = [:]
        /// The frames beyond the two guaranteed ones. Each is charged to the shared budget.
        var budgetedFrames: Set<Int> = []
        /// The requested frames, the most urgent first.
        var requested: [Int] = []
        /// The frame being decoded.
        var decoding: Int?
        /// The index of the first damaged frame, or the number of frames.
        var end: Int
        /// The frame that the player waits for.
        var awaited: Int?
        /// The purge count of the budget at the last request.
        var budgetGeneration: Int
        var isClosed = false
    }

    /// The frames that every animation may keep: the current and the next one.
    private static let guaranteedCount = 2
    /// The longest run of frames that is decoded forwards for backwards playback.
    private static let maximumRunLength = 8

    /// The animated image. It holds frame 0.
    private let image: WebImage
    private let animation: ImageAnimation
    private let queue: WorkQueue
    private let budget: AnimationBudget
    private let preparation: (any DisplayPreparation)?
    private let maximumByteCount: Int
    private let keepsAllFrames: Bool
    private let state: Mutex<State>
    /// Decodes the frames. Only the decoding job uses it, and there is one at a time.
    private let decoder: any FrameDecoding
    /// The handler that is called on the queue when the awaited frame is ready or turns out to be damaged.
    private let onFrame: @Sendable () -> Void

    /// - Parameters:
    ///   - maximumByteCount: The limit in bytes for this animation.
    ///   - wholeByteCount: The size in bytes up to which all frames of an animation are kept.
    package init(
        _ image: WebImage,
        _ animation: ImageAnimation,
        queue: WorkQueue,
        budget: AnimationBudget,
        preparation: (any DisplayPreparation)?,
        maximumByteCount: Int,
        wholeByteCount: Int,
        onFrame: @escaping @Sendable () -> Void
    ) {
        self.image = image
        self.animation = animation
        self.queue = queue
        self.budget = budget
        self.preparation = preparation
        self.maximumByteCount = maximumByteCount
        self.onFrame = onFrame
        keepsAllFrames =
            animation.bytesPerFrame.boundedProduct(animation.frameCount) <= min(wholeByteCount, maximumByteCount)
        decoder = animation.makeDecoder()
        state = Mutex(State(end: animation.frameCount, budgetGeneration: budget.generation))
    }

    deinit {
        close()
    }

    /// Drops all frames and stops decoding.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            state.requested = []
            dropFrames(except: [], &state)
            // The frame being decoded is charged as well.
            for index in state.budgetedFrames { releaseBudget(of: index, &state) }
        }
    }

    /// The number of intact frames, as far as it is known.
    package var end: Int { state.withLock { $0.end } }

    /// Returns a frame if it is decoded. If not, `onFrame` is called once it is.
    package func frame(_ index: Int) -> WebImage? {
        if index == 0 { return image }
        return state.withLock { state in
            let frame = state.frames[index]
            state.awaited = frame == nil && index < state.end ? index : nil
            return frame
        }
    }

    /// Returns a frame if it is decoded, without waiting for it.
    package func bufferedFrame(_ index: Int) -> WebImage? {
        index == 0 ? image : state.withLock { $0.frames[index] }
    }

    /// Replaces the requested frames, given with the most urgent first. Other frames are dropped, unless the animation is
    /// small enough to keep all of them.
    package func request(_ frames: [Int]) {
        let isIdle = state.withLock { state in
            guard !state.isClosed else { return false }
            let wasPurged = state.budgetGeneration != budget.generation
            state.budgetGeneration = budget.generation
            var requested: [Int] = []
            for frame in frames where frame != 0 && !requested.contains(frame) { requested.append(frame) }
            state.requested = requested
            if wasPurged || !keepsAllFrames {
                dropFrames(except: wasPurged ? Set(requested.prefix(1)) : Set(requested), &state)
            }
            guard state.decoding == nil, needsRefill(state) else { return false }
            state.decoding = nextMissing(&state)
            return state.decoding != nil
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
        state.frames[frame] == nil && frame < state.end
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
        if state.budgetedFrames.remove(index) != nil { budget.release(animation.bytesPerFrame) }
    }

    /// Returns the next frame to decode after charging it to the budget; `nil` if none is missing or the budget is used up.
    private func nextMissing(_ state: inout State) -> Int? {
        guard let next = nextInOrder(state) else { return nil }
        let freeCount = state.frames.count { !state.budgetedFrames.contains($0.key) }
        guard freeCount >= Self.guaranteedCount else { return next }
        let bytes = animation.bytesPerFrame
        guard (state.budgetedFrames.count + 1) * bytes <= maximumByteCount, budget.reserve(bytes) else { return nil }
        state.budgetedFrames.insert(next)
        return next
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
        guard let index = state.withLock({ $0.decoding }) else { return false }
        let result = Result { () throws(ImageError) in try decoder.frame(at: index) }
        var decoded: WebImage?
        if case .success(let pixels) = result {
            let frame = image.with { content in
                content.pixels = pixels
                content.animation = nil
            }
            preparation?.prepare(frame)
            decoded = frame
        }
        let (isAwaited, hasMore) = state.withLock { state in
            if let decoded, !state.isClosed, keepsAllFrames || state.requested.contains(index) {
                state.frames[index] = decoded
            } else {
                releaseBudget(of: index, &state)
            }
            if decoded == nil { state.end = min(state.end, index) }
            let isAwaited = state.awaited.map { $0 == index || $0 >= state.end } ?? false
            if isAwaited { state.awaited = nil }
            state.decoding = state.isClosed ? nil : nextMissing(&state)
            return (isAwaited, state.decoding != nil)
        }
        if case .failure(let error) = result {
            WebImageLog.debug("The animation ends before damaged frame \(index): \(error)")
        }
        if isAwaited { onFrame() }
        return hasMore
    }
}
