import Synchronization

/// The decoded frames of one animation that are wanted soon, made one after the other on the queue.
package final class FrameBuffer: Sendable {
    private struct State {
        /// By number, but for the first. What those cost that are not among the two that are guaranteed is taken from
        /// the budget.
        var frames: [Int: WebImage] = [:]
        var paid: Set<Int> = []
        /// What is to be there, the most urgent first.
        var wanted: [Int] = []
        /// The frame that is being made.
        var decoding: Int?
        /// Frames from here on are damaged.
        var end: Int
        /// Somebody waits for it.
        var awaited: Int?
        var generation: Int
        var isClosed = false
    }

    /// Frames that every animation may have: the one that is shown, and the next.
    private static let guaranteed = 2

    /// Shows the first frame itself, and stays.
    private let image: WebImage
    private let animation: ImageAnimation
    private let queue: WorkQueue
    private let budget: AnimationBudget
    private let preparation: (any DisplayPreparation)?
    private let maximumByteCount: Int
    private let isKeptWhole: Bool
    private let state: Mutex<State>
    /// Used by whoever decodes, and there is one at a time.
    private let decoder: any FrameDecoding
    /// Called on the queue, when a frame is there that was waited for, or when it turns out that there is none.
    private let onFrame: @Sendable () -> Void

    /// - Parameters:
    ///   - maximumByteCount: For this animation alone.
    ///   - wholeByteCount: An animation that takes no more than that is kept whole.
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
        isKeptWhole = animation.bytesPerFrame * animation.frameCount <= min(wholeByteCount, maximumByteCount)
        decoder = animation.makeDecoder()
        state = Mutex(State(end: animation.frameCount, generation: budget.generation))
    }

    deinit {
        close()
    }

    /// Lets go of everything.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            state.wanted = []
            keep([], &state)
            // Also for the one that is being made.
            for index in state.paid { release(index, &state) }
        }
    }

    /// The number of frames that are sound, as far as is known.
    package var end: Int { state.withLock { $0.end } }

    /// A frame, if it is there. If not, the next one to become ready is announced.
    package func frame(_ index: Int) -> WebImage? {
        if index == 0 { return image }
        return state.withLock { state in
            let frame = state.frames[index]
            state.awaited = frame == nil && index < state.end ? index : nil
            return frame
        }
    }

    /// A frame, if it is there; nothing is announced.
    package func presentFrame(_ index: Int) -> WebImage? {
        index == 0 ? image : state.withLock { $0.frames[index] }
    }

    /// Says which frames are wanted from now on, the most urgent first; others are let go of, unless the animation is
    /// small enough to be kept whole.
    package func want(_ frames: [Int]) {
        let isIdle = state.withLock { state in
            guard !state.isClosed else { return false }
            let isShort = state.generation != budget.generation
            state.generation = budget.generation
            var wanted: [Int] = []
            for frame in frames where frame != 0 && !wanted.contains(frame) { wanted.append(frame) }
            state.wanted = wanted
            if isShort || !isKeptWhole { keep(isShort ? Set(wanted.prefix(1)) : Set(wanted), &state) }
            guard state.decoding == nil, isLow(state) else { return false }
            state.decoding = nextMissing(&state)
            return state.decoding != nil
        }
        if isIdle { queue.submit { [weak self] in self?.decode() } }
    }

    /// Whether it is time to decode. Several frames in one go cost less than as many wake-ups of a thread and of the
    /// processor it runs on.
    private func isLow(_ state: State) -> Bool {
        let missing = state.wanted.count { isMissing($0, state) }
        return missing * 2 >= state.wanted.count || state.wanted.prefix(2).contains { isMissing($0, state) }
    }

    private func isMissing(_ frame: Int, _ state: State) -> Bool {
        state.frames[frame] == nil && frame < state.end
    }

    private func keep(_ kept: Set<Int>, _ state: inout State) {
        for index in Array(state.frames.keys) where !kept.contains(index) {
            state.frames[index] = nil
            release(index, &state)
        }
        // What is left may be had for nothing.
        if state.frames.count <= Self.guaranteed { for index in state.frames.keys { release(index, &state) } }
    }

    private func release(_ index: Int, _ state: inout State) {
        if state.paid.remove(index) != nil { budget.giveBack(animation.bytesPerFrame) }
    }

    /// The next frame to decode, its room taken; nil when all are there or there is no room.
    private func nextMissing(_ state: inout State) -> Int? {
        guard let next = nextInOrder(state) else { return nil }
        let free = state.frames.count { !state.paid.contains($0.key) }
        guard free >= Self.guaranteed else { return next }
        let bytes = animation.bytesPerFrame
        guard (state.paid.count + 1) * bytes <= maximumByteCount, budget.take(bytes) else { return nil }
        state.paid.insert(next)
        return next
    }

    /// The most urgent frame. When it goes backwards, the lowest of those that follow each other: a decoder can only go
    /// forwards, and would begin anew for each.
    private func nextInOrder(_ state: State) -> Int? {
        guard var index = state.wanted.firstIndex(where: { isMissing($0, state) }) else { return nil }
        let start = index
        let first = state.wanted[index]
        while index + 1 < state.wanted.count, state.wanted[index + 1] == state.wanted[index] - 1,
            isMissing(state.wanted[index + 1], state), first - state.wanted[index + 1] < Self.stretch
        {
            index += 1
        }
        let isBackwards = start > 0 && state.wanted[start - 1] == first + 1
        let mayGrow = index + 1 == state.wanted.count && state.wanted[index] > 1 && index - start + 1 < Self.stretch
        // Not urgent yet: it is worth waiting for more of them.
        if isBackwards, mayGrow, start > 2 { return nil }
        return state.wanted[index]
    }

    private static let stretch = 8

    /// One frame, then the thread is for others, so that fifty animations share the queue evenly; when nobody waits it
    /// goes on, for what the decoder needs is at hand in this processor.
    private func decode() {
        while decodeOne() {
            guard queue.pendingCount <= 1 else {
                queue.submit { [weak self] in self?.decode() }
                return
            }
        }
    }

    /// - Returns: Whether there is more to do.
    private func decodeOne() -> Bool {
        guard let index = state.withLock({ $0.decoding }) else { return false }
        let result = Result { () throws(ImageError) in try decoder.frame(at: index) }
        var made: WebImage?
        if case .success(let pixels) = result {
            let frame = image.with { content in
                content.pixels = pixels
                content.animation = nil
            }
            preparation?.prepare(frame)
            made = frame
        }
        let (isAwaited, goesOn) = state.withLock { state in
            if let made, !state.isClosed, isKeptWhole || state.wanted.contains(index) {
                state.frames[index] = made
            } else {
                release(index, &state)
            }
            if made == nil { state.end = min(state.end, index) }
            let isAwaited = state.awaited.map { $0 == index || $0 >= state.end } ?? false
            if isAwaited { state.awaited = nil }
            state.decoding = state.isClosed ? nil : nextMissing(&state)
            return (isAwaited, state.decoding != nil)
        }
        if case .failure(let error) = result { WebImageLog.debug("The animation ends early: \(error)") }
        if isAwaited { onFrame() }
        return goesOn
    }
}
