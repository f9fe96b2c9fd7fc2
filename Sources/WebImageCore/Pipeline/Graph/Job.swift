extension JobGraph {
    /// A decode that tasks share.
    struct Job: Sendable {
        struct ID: Hashable, Sendable {
            /// The age as well: the load with the smaller number was requested first.
            let number: UInt64
        }

        /// The phase of the job. A ticket is `nil` until the work is in its queue.
        enum Phase: Sendable {
            /// The rendition cache is being read. Bytes of the fetch that arrive first are used instead.
            case lookingUp(Fetch.ID, WorkQueue.Ticket?)
            /// The job waits for the bytes of a fetch.
            case waiting(Fetch.ID)
            /// The image is being decoded, from the bytes of a fetch that has ended or from a rendition.
            case decoding(WorkQueue.Ticket?)
        }

        /// The result of a decode of the job. There is at most one decode of each kind at a time. The decode of a stale
        /// image may still occupy its thread after it was ended, while the image is decoded.
        enum Product: Sendable {
            /// The image that is shown until the server has answered.
            case staleImage
            case image
        }

        /// What can be shown before the image is complete. The two kinds exclude each other: partial images are not
        /// worth decoding while a complete image is shown. They are indirect because few jobs have one, and the
        /// compiler would otherwise write out the copying of every value inside for each type that holds a job.
        enum Preview: Sendable {
            case none
            /// Partial images of the bytes that have arrived.
            indirect case progressive(ProgressiveDecoding)
            /// The cached image, shown until the server has answered.
            indirect case stale(StaleImage)
        }

        let key: Key
        let request: ImageRequest
        var tasks: [ImageTask]
        var priority: ImagePriority
        var phase: Phase
        var preview = Preview.none
        /// The rendition that the server is asked to validate.
        var rendition: CacheEntry?
        /// When the look-up of that rendition began.
        var renditionMark: ImageVersions.Mark?
        /// Whether a rendition was found, and its file is being checked for changes.
        var isConfirming = false
        /// Whether the image is stale and is loaded again for its next use once the job has ended.
        var isStale = false

        /// Whether the job decodes the whole image in order to store the original: see ``StoreStage``.
        var isForOriginal: Bool { tasks.isEmpty }

        /// The fetch that the job waits for.
        var fetch: Fetch.ID? {
            switch phase {
            case .lookingUp(let fetch, _), .waiting(let fetch): fetch
            case .decoding: nil
            }
        }

        /// Whether the thumbnail in the file can be shown: partial images are wanted, and none has been shown yet.
        var wantsThumbnail: Bool {
            if case .progressive(let decoding) = preview {
                decoding.lastPartial == nil && !decoding.hasThumbnail
            } else {
                false
            }
        }

        var isLookingUp: Bool {
            if case .lookingUp = phase { true } else { false }
        }

        /// The tickets of the read and the decodes of this job.
        var tickets: [WorkQueue.Ticket] {
            var tickets: [WorkQueue.Ticket] = []
            switch phase {
            case .lookingUp(_, let ticket?), .decoding(let ticket?): tickets.append(ticket)
            case .lookingUp, .decoding, .waiting: break
            }
            if case .stale(.decoding(let ticket?, _)) = preview { tickets.append(ticket) }
            return tickets
        }
    }

    /// The stale image of a job, from the start of its decode.
    enum StaleImage: Sendable {
        /// The image is being decoded; `answer` holds the bytes that arrived in the meantime.
        case decoding(WorkQueue.Ticket?, answer: FetchedData?)
        /// The image; `nil` if it could not be decoded. The memory cache does not keep it before the server has
        /// confirmed it.
        case decoded(WebImage?)
    }
}
