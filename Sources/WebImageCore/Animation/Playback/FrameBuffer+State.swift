extension FrameBuffer {
    /// The decoded and requested frames, behind the lock of the buffer.
    struct State {
        /// The request of the player.
        struct Request {
            /// The frames, the most urgent first.
            var frames: [Int] = []
            /// The frame that the player shows and retains.
            var shown: Int?
            /// Whether the animation is hidden, finished or paused.
            var isResting = false
            /// Whether there is no room for the missing frames, and no other animation gives up frames.
            var lacksRoom = false
        }

        /// The activity of the decoder.
        enum Activity {
            case idle
            /// A thread of the queue runs the decoder, or is about to.
            case running
            /// A thread is decoding a frame.
            case decoding
            /// The decoder waits for memory for the canvas with this ticket, or for some time if there is no ticket.
            case waiting((budget: MemoryBudget, ticket: WorkQueue.Ticket)?)
            case closed
        }

        /// The animated image. It holds frame 0.
        var image: WebImage
        var animation: ImageAnimation
        /// Decodes the frames, on one thread of the queue at a time.
        var decoder: any InterruptibleFrameDecoding
        /// The decoder for an image with more frames, which takes over before the next frame.
        var nextDecoder: (any InterruptibleFrameDecoding)?
        var activity = Activity.idle
        var request = Request()
        /// The decoded frames by index. Frame 0 is kept in the image.
        var frames: [Int: WebImage] = [:]
        /// The number of frames charged to the shared budget: those beyond the two guaranteed ones.
        var chargedCount = 0
        /// The index of the first damaged frame, or the number of frames.
        var end: Int
        /// The frame that the player waits for.
        var awaited: Int?
        /// The number of consecutive decodes that failed for lack of system resources.
        var failureCount = 0
        /// Whether the decoder must release its memory once no frame is missing.
        var isReleaseDue = false
        /// The value of ``AnimationBudget/departureCount`` when there was no room for all frames of a small animation.
        var crowdedSince: Int?

        var isClosed: Bool { if case .closed = activity { true } else { false } }

        /// A frame if it is decoded.
        func frame(_ index: Int) -> WebImage? { index == 0 ? image : frames[index] }

        /// The first of the frames that is decoded, and its place among them, counted from 1. Frame 0 is always decoded and counts
        /// if no other frame is.
        func newest(of frames: some Sequence<Int>) -> (place: Int, frame: WebImage)? {
            var start: Int?
            for (place, index) in zip(1..., frames) {
                if index == 0 {
                    start = start ?? place
                } else if let frame = self.frames[index] {
                    return (place, frame)
                }
            }
            return start.map { ($0, image) }
        }

        func isMissing(_ frame: Int) -> Bool { frames[frame] == nil && frame < end && frame != request.shown }
    }
}
