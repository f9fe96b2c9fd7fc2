import FoundationEssentials

extension JobGraph {
    /// A load of bytes that jobs share.
    struct Fetch: Sendable {
        struct ID: Hashable, Sendable {
            /// The age as well: of two loads, that with the smaller number was asked for first.
            let number: UInt64
        }

        /// What the fetch is doing.
        enum Phase: Sendable {
            /// No job needs the bytes yet: the rendition cache may have what all of them want.
            case pending
            /// The disk cache is being read.
            case lookingUp(WorkQueue.Ticket?)
            /// The bytes that are not decoded yet leave no room for those on the disk.
            case waitingForRoom
            /// The loader is about to be called again.
            case starting
            /// The loader is at work.
            case loading(Attempt)
            /// The fetch waits until the loader is asked again.
            case backingOff
        }

        /// One try at the loader. The next one starts from nothing.
        struct Attempt: Sendable {
            /// `nil` until the loader has returned.
            var operation: (any FetchOperation)?
            var hasFirstBytes = false
            /// The bytes so far, while they are streamed: jobs that join later decode them, too.
            var chunks: [Data] = []
            /// The bytes that the loader has told of, and of how many.
            var progress: (received: Int64, expected: Int64?) = (0, nil)
            /// Counts these bytes.
            var streamed: MemoryBudget.Reservation?
            /// Whether memory ran out for these bytes: the attempt makes no further partial images.
            var hasDroppedStream = false
        }

        /// The cached copy that the server is asked about.
        enum Validation: Sendable {
            case none
            /// The entry is without its bytes, which would take memory for as long as the server needs.
            indirect case original(CacheEntry, isAnswer: Bool)
            /// There is no original, but every job has a rendition.
            case renditions
        }

        let key: Key
        let request: ImageRequest
        var jobs: [Job.ID] = []
        /// The tasks that want the bytes.
        var readers: [DataTask] = []
        var priority: ImagePriority
        var phase = Phase.pending
        var validation = Validation.none
        /// Whether a job decodes partial images, so that the loader hands out the bytes as they arrive.
        var wantsStreaming = false
        /// The number of attempts so far.
        var attemptCount = 0
        /// When the attempt has begun that is under way or has brought the bytes.
        var attemptStart: Date?
        /// The attempts that have failed, after each of which there was another one.
        var failures: [ImageError.Attempt] = []
        /// Whether the fetch has backed off because the machine was offline, which it does once.
        var hasWaitedForNetwork = false

        /// Whether anybody waits for the bytes.
        var isWanted: Bool { !jobs.isEmpty || !readers.isEmpty }

        var attempt: Attempt? {
            if case .loading(let attempt) = phase { attempt } else { nil }
        }

        /// Whether the loader is at work.
        var isLoading: Bool {
            if case .loading = phase { true } else { false }
        }

        /// The attempt that fails now.
        func attempt(failingWith error: ImageError, at now: Date) -> ImageError.Attempt {
            ImageError.Attempt(error, of: request.url, from: attemptStart, to: now)
        }

        /// The error that ends the fetch, with all that was tried.
        func ending(with error: ImageError, at now: Date) -> ImageError {
            error.ending(attempt(failingWith: error, at: now), after: failures)
        }

        /// The original that the server is asked about, without its bytes.
        var storedOriginal: CacheEntry? {
            if case .original(let entry, _) = validation { entry } else { nil }
        }

        /// The same, if it may serve when the server cannot be asked.
        var usableOriginal: CacheEntry? {
            if case .original(let entry, isAnswer: true) = validation { entry } else { nil }
        }
    }
}

extension JobGraph.Fetch {
    /// Everything that the bytes depend on. Fetches with equal keys get the same bytes from the same places.
    struct Key: Hashable, Sendable {
        let url: String
        let policy: CachePolicy
        let queriesOriginals: Bool
        let storesOriginals: Bool
        let networkOptions: Box<NetworkOptions>?
        /// The user name and password in the URL, which the keys of the caches do not contain.
        let userInfo: String?
        let loader: ObjectIdentifier?

        init(_ request: ImageRequest) {
            url = request.sourceKey
            userInfo = request.url.userInfo
            policy = request.cachePolicy.forSharing
            queriesOriginals = request.readTiers.contains(.originals)
            storesOriginals = request.cacheAccess.writes.contains(.originals)
            networkOptions = request.boxedNetworkOptions
            loader = request.loader.map { $0.identity }
        }
    }
}
