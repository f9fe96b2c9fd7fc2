extension JobGraph {
    /// Work that a mutation of the graph requires.
    enum Effect: Sendable {
        /// Stage 2 reads the rendition cache for a job.
        case lookUpRendition(Job.ID, ImagePriority)
        /// Stage 3 reads the disk cache for a fetch, or passes it on to its loader.
        case lookUpOriginal(Fetch.ID, ImagePriority)
        /// Stage 4 asks the loader again.
        case load(Fetch.ID)
        /// An attempt failed after its loader had succeeded.
        case recover(Fetch.ID, ImageError)
        /// Stage 5 decodes the whole image for the disk cache.
        case decodeWhole(Job.ID, FetchedData)
        /// A cached image must be refreshed in the background.
        case refresh(ImageRequest)
        case startStreaming(any FetchOperation)
        /// The priority of a read or a decode changes, which waits in a queue or for memory.
        case prioritize(WorkQueue.Ticket, ImagePriority)
        case prioritizeLoad(any FetchOperation, ImagePriority)
        /// A read or a decode is not needed.
        case cancel(WorkQueue.Ticket)
        case cancelLoad(any FetchOperation)
        /// No task waits for this load. The load is cancelled unless it is nearly complete.
        case abandonLoad(Fetch.ID, any FetchOperation)
    }
}
