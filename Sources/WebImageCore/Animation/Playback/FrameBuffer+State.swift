extension FrameBuffer {
    /// What is decoded and what is wanted, behind the lock of the buffer.
    struct State {
        /// What the player wants.
        struct Request {
            /// The frames, the most urgent first.
            var frames: [Int] = []
            /// The frame that the player shows and retains.
            var shown: Int?
            /// Whether the animation is hidden, finished or paused.
            var isResting = false
            /// Whether no other animation gives up frames for those that are missing.
            var lacksRoom = false
        }

        /// What the decoder does.
        enum Activity {
            case idle
            /// A thread of the queue has it, or will have it soon.
            case running
            /// A thread decodes a frame.
            case decoding
            /// The ticket waits for the memory of the canvas; where there is none, the decoder waits for some time.
            case waiting((budget: MemoryBudget, ticket: WorkQueue.Ticket)?)
            case closed
        }

        /// The animated image. It holds frame 0.
        var image: WebImage
        var animation: ImageAnimation
        /// Decodes the frames, on one thread of the queue at a time.
        var decoder: any InterruptibleFrameDecoding
        /// The decoder for more frames, which takes over before the next frame.
        var nextDecoder: (any InterruptibleFrameDecoding)?
        var activity = Activity.idle
        var request = Request()
        /// Decoded frames by index; frame 0 is kept apart.
        var frames: [Int: WebImage] = [:]
        /// How many frames are charged to the shared budget: those beyond the two guaranteed ones.
        var chargedCount = 0
        /// The index of the first damaged frame, or the number of frames.
        var end: Int
        /// The frame that the player waits for.
        var awaited: Int?
        /// The decodes in a row that the system has made fail.
        var failureCount = 0
        /// Whether the decoder is to give its memory back once no frame is missing.
        var isReleaseDue = false
        /// What ``AnimationBudget/departureCount`` was when there was no room for all frames of a small animation.
        var crowdedSince: Int?

        var isClosed: Bool { if case .closed = activity { true } else { false } }

        func isMissing(_ frame: Int) -> Bool { frames[frame] == nil && frame < end && frame != request.shown }
    }
}
