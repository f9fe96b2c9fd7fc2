import Synchronization

/// The memory that all animations together may use for frames decoded ahead. The current and the next frame of each
/// animation are exempt, because no animation can play without them.
package final class AnimationBudget: Sendable {
    private struct Member {
        enum Activity { case playing, resting, cleared }

        weak var buffer: FrameBuffer?
        /// A playing animation has a share. A hidden or finished one may keep frames until it is cleared.
        var activity = Activity.playing
    }

    private struct State {
        var used = 0
        /// The animations that have players.
        var members: [ObjectIdentifier: Member] = [:]
        /// The number of requests beyond a share that are refused even if there is room. Set when an animation finds no room within
        /// its share.
        var shortage = 0
        /// Whether animations have more than their share, and another one has less.
        var isShareDue = false
        /// How often an animation has ended or stopped playing, which leaves more memory to the others.
        var departureCount = 0
    }

    /// The number of requests for which shares stay in force: some seconds of an animation.
    private static let shortageLength = 64

    /// The limit in bytes.
    package let limit: Int
    private let state = Mutex(State())

    package init(limit: Int) {
        self.limit = limit
    }

    /// The bytes in use.
    package var used: Int { state.withLock { $0.used } }

    func add(_ buffer: FrameBuffer) {
        state.withLock { state in
            state.members[ObjectIdentifier(buffer)] = Member(buffer: buffer)
            state.shortage = 0
        }
    }

    func remove(_ buffer: FrameBuffer) {
        state.withLock { state in
            state.members[ObjectIdentifier(buffer)] = nil
            state.shortage = 0
            state.departureCount &+= 1
        }
    }

    func setActive(_ isActive: Bool, _ buffer: FrameBuffer) {
        state.withLock { state in
            state.members[ObjectIdentifier(buffer)]?.activity = isActive ? .playing : .resting
            state.shortage = 0
            if !isActive { state.departureCount &+= 1 }
        }
    }

    /// A number that changes when an animation has ended or stopped playing, so that there may be room for others.
    var departureCount: Int { state.withLock { $0.departureCount } }

    /// Reserves bytes.
    /// - Parameter own: The bytes that the animation has already reserved.
    /// - Returns: Whether the limit allowed it.
    func reserve(_ byteCount: Int, beside own: Int) -> Bool {
        state.withLock { state in
            let isWithinShare = own + byteCount <= share(state)
            guard byteCount <= limit - state.used, isWithinShare || state.shortage == 0 else {
                if !isWithinShare {
                    state.shortage = max(state.shortage - 1, 0)
                } else if exchange(&state.shortage, with: Self.shortageLength) == 0 {
                    state.isShareDue = true
                }
                return false
            }
            state.used += byteCount
            return true
        }
    }

    /// The bytes that each animation may have in any case.
    private func share(_ state: borrowing State) -> Int {
        limit / max(state.members.values.count { $0.activity == .playing }, 1)
    }

    func release(_ byteCount: Int) {
        state.withLock { $0.used -= byteCount }
    }

    /// Makes hidden or finished animations drop their frames for a playing one that finds no room, and others those beyond their
    /// share if it has less. The caller must not hold the lock of a frame buffer.
    /// - Returns: Whether there were any such animations.
    func makeRoom() -> Bool {
        let (resting, playing, share) = state.withLock { state -> ([FrameBuffer], [FrameBuffer], Int) in
            let resting = state.members.filter { $0.value.activity == .resting }
            for key in resting.keys { state.members[key]?.activity = .cleared }
            let isShareDue = exchange(&state.isShareDue, with: false)
            let playing = isShareDue ? state.members.values.filter { $0.activity == .playing } : []
            return (resting.values.compactMap(\.buffer), playing.compactMap(\.buffer), self.share(state))
        }
        for buffer in resting { buffer.dropFrames(beyond: 0, ifResting: true) }
        for buffer in playing { buffer.dropFrames(beyond: share) }
        return !resting.isEmpty || !playing.isEmpty
    }

    /// Makes every animation drop frames that it has decoded ahead or keeps for the next loop, whether it plays or not. Hidden
    /// or finished animations also release the memory of their decoders. Called under memory pressure, on any thread.
    package func purge() {
        let buffers = state.withLock { $0.members.values.compactMap(\.buffer) }
        for buffer in buffers { buffer.purge() }
    }
}
