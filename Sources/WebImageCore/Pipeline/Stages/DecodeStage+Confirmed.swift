import FoundationEssentials

// Images that the server has confirmed, or that are used without an answer.
extension DecodeStage {
    /// The image that was shown while the server was asked.
    func cachedImage(of job: JobGraph.Job, _ data: FetchedData) -> WebImage? {
        var image = memoryCache.entry(for: job.request)?.image
        if image == nil, case .stale(.decoded(let stale)) = job.preview { image = stale }
        if let image { storeConfirmed(image, of: job, data) }
        return image
    }

    /// Stores an image whose freshness the server has renewed, or that is used without an answer.
    func storeConfirmed(_ image: WebImage, of job: JobGraph.Job, _ data: FetchedData) {
        // An image in memory keeps its terms.
        guard data.origin != .memory else { return }
        var response = data.loaded.metadata
        // A confirmed rendition has only the fields of the 304.
        if let known = job.rendition?.response {
            response = data.refreshError == nil ? known.renewed(by: response) : known
        }
        storeStage.storeInMemory(image, for: job, response: response, mark: data.mark ?? job.renditionMark)
    }
}
