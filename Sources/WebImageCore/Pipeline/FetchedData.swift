import FoundationEssentials

/// The bytes of a fetch and where they came from, shared by the jobs that decode them.
struct FetchedData: Sendable {
    /// The bytes, empty when the server confirmed renditions and there is no original.
    var loaded: LoaderResult
    let origin: LoadSource
    /// The format of the bytes, recognised once for all that ask.
    let format: ImageFormat
    /// Puts the bytes into the disk cache; `nil` when they come from there or are not kept.
    let original: OriginalStore?
    /// Why these bytes serve although the server should have been asked about them.
    var refreshError: ImageError?
    /// The attempts that failed before these bytes came, and when the one began that brought them.
    var failures: (earlier: [ImageError.Attempt], start: Date?) = ([], nil)
    /// The date of the original on disk, if there is one or will be: ``CacheEntry/storedAt``.
    var storedAt: Date?
    /// When the bytes were read or have arrived; `nil` when there are none.
    var mark: ImageVersions.Mark?
    /// Whether a decode has held a thread for so long that others are served first.
    var takesLong = false
    /// Set when several jobs decode the bytes.
    var coalescer: DecodeCoalescer?
    /// The time for reading the disk cache.
    var readingDuration = Duration.zero
    /// The disk-cache entry, when the bytes come from there.
    var entry: CacheEntry?
    /// Counts the bytes until the last job has decoded them.
    var reservation: MemoryBudget.Reservation?
    /// Whether the original is loaded again for its next use.
    var isStale = false

    init(loaded: LoaderResult, origin: LoadSource, original: OriginalStore? = nil) {
        self.loaded = loaded
        format = ImageFormat(sniffing: loaded.data)
        self.origin = origin
        self.original = original
        storedAt = original?.date
    }

    /// The bytes of a disk-cache entry.
    init(stored: CacheEntry, origin: LoadSource) {
        self.init(loaded: LoaderResult(data: stored.data, metadata: stored.response), origin: origin)
        storedAt = stored.storedAt
        entry = stored
    }

    /// Whether the image is the one that was cached before: the server confirmed it or was unreachable.
    var isConfirmed: Bool { origin == .revalidated || refreshError != nil }

    /// The error of bytes that cannot be decoded because the server has not sent all of them; `nil` when they are what it has.
    func incompleteness(_ error: ImageError) -> ImageError? {
        guard origin == .loader, error.code == .badImageData, let head = loaded.head else { return nil }
        let isMissing = loaded.data.isEmpty || head.status == 202
        guard isMissing || loaded.endsWithConnection && format != .unknown else { return nil }
        let reason =
            isMissing
            ? "The server has sent no image yet, but status \(head.status) and \(loaded.data.count) bytes"
            : "The connection was closed in the middle of the body (\(error.reason))"
        let remedy = "Load the image again later, and let the server state the length of bodies (Content-Length)."
        return ImageError(.transferIncomplete, url: error.url, reason: reason, remedy: remedy, head: head)
    }

    /// The same bytes with what is known of their fetch.
    /// - Parameter isShared: Whether several jobs decode them, which share what they make.
    func following(_ fetch: JobGraph.Fetch?, isShared: Bool) -> FetchedData {
        var data = self
        if isShared { data.coalescer = DecodeCoalescer() }
        if let fetch { data.failures = (fetch.failures, fetch.attemptStart) }
        return data
    }
}

/// Why an original serves that the server was asked about.
struct Confirmation: Sendable {
    /// The original without its bytes.
    let entry: CacheEntry
    /// The answer that the original is current; `nil` when it serves without one.
    var answer: LoaderResult?
    /// Why there is no answer.
    var refreshError: ImageError?
}
