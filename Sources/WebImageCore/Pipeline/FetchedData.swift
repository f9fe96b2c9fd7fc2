import FoundationEssentials

/// The bytes of a fetch and where they came from, shared by the jobs that decode them.
struct FetchedData: Sendable {
    /// The bytes; empty if the server confirmed renditions and there is no original.
    var loaded: LoaderResult
    let origin: LoadSource
    /// The format of the bytes, recognized once for all jobs.
    let format: ImageFormat
    /// How far storing the bytes is; `nil` if they come from the disk cache or are not kept.
    var original: StoreProgress?
    /// Why these bytes are used although the server should have been asked about them.
    var refreshError: ImageError?
    /// The attempts that failed before, and the start of the attempt that brought these bytes.
    var failures: (earlier: [ImageError.Attempt], start: Date?) = ([], nil)
    /// The date of the original on disk, if there is one or will be: ``CacheEntry/storedAt``.
    var storedAt: Date?
    /// When the bytes were read or arrived; `nil` if there are none.
    var mark: ImageVersions.Mark?
    /// Whether decoding has occupied a thread for so long that other images are decoded first.
    var takesLong = false
    /// Chosen when the decode of a job is submitted; `nil` before, and if there is no decoder or the format is not allowed.
    var plan: DecodePlan?
    /// Set if several jobs decode the bytes.
    var coalescer: DecodeCoalescer?
    /// The time that reading the disk cache took.
    var readingDuration = Duration.zero
    /// The disk-cache entry, if the bytes come from the disk cache.
    var entry: CacheEntry?
    /// Counts the bytes until the last job has decoded them.
    var reservation: MemoryBudget.Reservation?
    /// Whether the original is loaded again for its next use.
    var isStale = false

    init(loaded: LoaderResult, origin: LoadSource) {
        self.loaded = loaded
        format = ImageFormat(sniffing: loaded.data)
        self.origin = origin
    }

    /// The bytes of a disk-cache entry.
    init(stored: CacheEntry, origin: LoadSource) {
        self.init(loaded: LoaderResult(data: stored.data, metadata: stored.response), origin: origin)
        storedAt = stored.storedAt
        entry = stored
    }

    /// What a response tells about these bytes.
    /// - Parameter durations: The times of decoding and transforming.
    func details(with durations: StageDurations) -> ResponseDetails {
        var details = ResponseDetails(
            head: loaded.head,
            metrics: loaded.metrics,
            durations: durations,
            refreshError: refreshError
        )
        details.durations.reading = readingDuration
        return details
    }

    /// Whether the image is the one that was cached before: the server confirmed it or was unreachable.
    var isConfirmed: Bool { origin == .revalidated || refreshError != nil }

    /// The error of bytes that cannot be decoded because the server sent only part of the file; `nil` if the file is complete.
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
}

/// Why an original is used after the server was asked about it.
struct Confirmation: Sendable {
    /// The original without its bytes.
    let entry: CacheEntry
    /// The server's answer that the original is current; `nil` if the original is used without an answer.
    var answer: LoaderResult?
    /// Why there is no answer.
    var refreshError: ImageError?
}
