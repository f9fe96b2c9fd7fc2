extension FrameBuffer {
    /// What is decoded and what is wanted, behind the lock of the buffer.
    struct State {
        struct Wait {
            let budget: MemoryBudget?
            let ticket: WorkQueue.Ticket?
        }

        /// The animated image. It holds frame 0.
        var image: WebImage
        var animation: ImageAnimation
        /// Decodes the frames. Only the decoding job uses it, and there is one at a time.
        var decoder: any FrameDecoding
        /// The decoder for more frames, which takes over before the next frame.
        var nextDecoder: (any FrameDecoding)?
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
        /// The frame that the player shows and retains.
        var shown: Int?
        /// What the decoder waits with, for the memory of its canvas or, without a ticket, for some time.
        var wait: Wait?
        /// The decodes in a row that the system has made fail.
        var failureCount = 0
        /// Whether the decoder is to give its memory back once it has decoded its frame.
        var isReleaseDue = false
        /// Whether the queue has the decoder give its memory back, or go over to the next one.
        var isTending = false
        /// Whether the animation is hidden, finished or paused.
        var isResting = false
        /// Whether frames stay after they were shown, for the next loop.
        var keepsAllFrames: Bool
        /// What ``AnimationBudget/departureCount`` was when there was no room for all frames.
        var crowdedSince: Int?
        /// Whether a requested frame found no room.
        var lacksRoom = false
        var isClosed = false
    }
}
