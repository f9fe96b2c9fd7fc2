import FoundationEssentials

extension JobGraph {
    /// A load of bytes that jobs share.
    struct Fetch: Sendable {
        struct ID: Hashable, Sendable {
            /// The age as well: the load with the smaller number was requested first.
            let number: UInt64
        }

        /// What the fetch is doing.
        enum Phase: Sendable {
            /// No job needs the bytes yet: the rendition cache may answer all of them.
            case pending
            /// The disk cache is being read.
            case lookingUp(WorkQueue.Ticket?)
            /// The fetch waits for memory: bytes that are not decoded yet fill the budget.
            case waitingForRoom
            /// The loader is about to be called again.
            case starting
            /// The loader is running.
            case loading(Attempt)
            /// The fetch waits for the next attempt.
            case backingOff
        }

        /// One call of the loader. The next attempt starts from nothing.
        struct Attempt: Sendable {
            /// `nil` until the loader has returned.
            var operation: (any FetchOperation)?
            var hasFirstBytes = false
            /// The bytes so far, while they are streamed. Jobs that join later decode them as well.
            var chunks: [Data] = []
            /// The number of bytes that the loader has reported, and the length of the body.
            var progress: (received: Int64, expected: Int64?) = (0, nil)
            /// Counts the bytes in `chunks`.
            var streamed: MemoryBudget.Reservation?
            /// Whether memory ran out for `chunks`. The attempt then makes no further partial images.
            var hasDroppedStream = false
        }

        /// The cached copy that the server is asked about.
        enum Validation: Sendable {
            case none
            /// The entry without its bytes, which would occupy memory until the server answers.
            indirect case original(CacheEntry, isAnswer: Bool)
            /// There is no original, but every job has a rendition.
            case renditions
            /// The original is being read again, after the server was asked about it.
            indirect case confirmed(Confirmation)
        }

        let key: Key
        let request: ImageRequest
        var jobs: [Job.ID] = []
        /// The tasks that want the bytes.
        var readers: [DataTask] = []
        var priority: ImagePriority
        var phase = Phase.pending
        var validation = Validation.none
        /// Whether a job decodes partial images, so the loader must deliver the bytes as they arrive.
        var wantsStreaming = false
        /// The number of attempts so far.
        var attemptCount = 0
        /// When the attempt started that is running or has brought the bytes.
        var attemptStart: Date?
        /// The moment before the first attempt, or before the read of the caches that led to it. An image that the app stores after
        /// it stays: see ``ImageVersions/mark(of:since:)``.
        var mark: ImageVersions.Mark?
        /// The failed attempts that were followed by another attempt.
        var failures: [ImageError.Attempt] = []
        /// Whether the fetch has waited for the network, which it does only once.
        var hasWaitedForNetwork = false

        /// Whether a job or a reader waits for the bytes.
        var isWanted: Bool { !jobs.isEmpty || !readers.isEmpty }

        var attempt: Attempt? {
            if case .loading(let attempt) = phase { attempt } else { nil }
        }

        /// The current attempt, as one that fails with an error.
        func attempt(failingWith error: ImageError, at now: Date) -> ImageError.Attempt {
            ImageError.Attempt(error, of: request.url, from: attemptStart, to: now)
        }

        /// The error that ends the fetch, with the history of its attempts.
        func ending(with error: ImageError, at now: Date) -> ImageError {
            error.ending(attempt(failingWith: error, at: now), after: failures)
        }

        /// The original that the server is asked to validate, without its bytes.
        var storedOriginal: CacheEntry? {
            if case .original(let entry, _) = validation { entry } else { nil }
        }

        /// Why the original is being read again.
        var confirmation: Confirmation? {
            if case .confirmed(let confirmation) = validation { confirmation } else { nil }
        }

        /// `storedOriginal`, if it may be used when the server is unreachable.
        var usableOriginal: CacheEntry? {
            if case .original(let entry, isAnswer: true) = validation { entry } else { nil }
        }
    }
}

extension JobGraph.Fetch.Attempt {
    /// How much of the file has arrived, from 0 to 1. If the server states no length, the share is estimated from a
    /// file of usual compression, and is at most one half.
    /// - Parameter pixelCount: The number of pixels of the image.
    func arrivedShare(pixelCount: Int) -> Double {
        guard let expected = progress.expected, expected > 0 else {
            let usual = Double(pixelCount) / 4
            return Double(progress.received) / max(usual, 2 * Double(progress.received), 1)
        }
        return Double(progress.received) / Double(expected)
    }
}
