extension JobGraph {
    /// What mutations have removed. It holds closures and objects of the app, so it is released while the lock is free.
    struct Removals: Sendable {
        /// Nearly every mutation removes at most one job and one fetch, which then need no allocation.
        private var job: Job?
        private var fetch: Fetch?
        private var otherJobs: [Job] = []
        private var otherFetches: [Fetch] = []

        /// The decoders of partial images, with their canvases. Releasing one takes milliseconds.
        private var decoders: [BudgetedIncrementalDecoder] = []

        /// The stale images of jobs that continue without them.
        private var previews: [Job.Preview] = []

        mutating func add(_ removed: Job) {
            var removed = removed
            if case .progressive(var decoding) = removed.preview {
                // A complete body leaves with the job.
                add(decoding.abandon())
                removed.preview = .progressive(decoding)
            }
            if job == nil { job = removed } else { otherJobs.append(removed) }
        }

        mutating func add(_ removed: Job.Preview) {
            switch removed {
            case .none: break
            case .progressive(let decoding): add(decoding.decoder)
            case .stale: previews.append(removed)
            }
        }

        mutating func add(_ removed: ProgressiveDecoding.Decoder) {
            if case .running(let decoder) = removed { decoders.append(decoder) }
        }

        /// Returns the decoders and forgets them; `nil` if there are none.
        mutating func takeDecoders() -> DecoderDisposal? {
            decoders.isEmpty ? nil : DecoderDisposal(exchange(&decoders, with: []))
        }

        mutating func add(_ removed: Fetch) {
            if fetch == nil { fetch = removed } else { otherFetches.append(removed) }
        }
    }
}
