import FoundationEssentials
import Synchronization

/// The bytes of a fetch and where they came from, shared by the jobs that decode them.
struct FetchedData: Sendable {
    /// The bytes, empty when the server confirmed renditions and there is no original.
    var loaded: LoaderResult
    let origin: ImageResponse.Source
    /// The format of the bytes, recognised once for all that ask.
    let format: ImageFormat
    /// Puts the bytes into the disk cache, when it is first called.
    let storeOriginal: OnceClosure?
    /// Why these bytes serve although the server should have been asked about them.
    var refreshError: ImageError?
    /// The attempts that failed before these bytes came, and when the one began that brought them.
    var failures: (earlier: [ImageError.Attempt], start: Date?) = ([], nil)
    /// The date of the original on disk, if there is one or will be: ``CacheEntry/storedAt``.
    var storedAt: Date?
    /// When the bytes were read or have arrived; `nil` when there are none.
    var mark: ImageVersions.Mark?
    /// Set when several jobs decode the bytes.
    var coalescer: DecodeCoalescer?
    /// The time for reading the disk cache.
    var readingDuration = Duration.zero
    /// The disk-cache entry, when the bytes come from there.
    var entry: CacheEntry?
    /// Counts the bytes until the last job has decoded them.
    var reservation: MemoryBudget.Reservation?
    /// Runs when the last job has decoded the bytes.
    var completion: OnDeinit?

    init(loaded: LoaderResult, origin: ImageResponse.Source, storeOriginal: OnceClosure?) {
        self.loaded = loaded
        format = ImageFormat(sniffing: loaded.data)
        self.origin = origin
        self.storeOriginal = storeOriginal
    }

    /// The bytes of a disk-cache entry.
    init(stored: CacheEntry, origin: ImageResponse.Source) {
        self.init(
            loaded: LoaderResult(data: stored.data, metadata: stored.response),
            origin: origin,
            storeOriginal: nil
        )
        storedAt = stored.storedAt
        entry = stored
    }

    /// Whether the image is the one that was cached before: the server confirmed it or was unreachable.
    var isConfirmed: Bool { origin == .revalidated || refreshError != nil }

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

/// Work that only the first of several callers does.
final class OnceClosure: Sendable {
    private let needsImage: Bool
    private let work: Mutex<(@Sendable (WebImage?) -> Void)?>

    /// - Parameter needsImage: Whether only a caller with an image can do the work.
    init(needsImage: Bool, _ work: @escaping @Sendable (WebImage?) -> Void) {
        self.needsImage = needsImage
        self.work = Mutex(work)
    }

    /// - Parameter image: The decoded image, if it was decoded.
    func perform(_ image: WebImage?) {
        guard image != nil || !needsImage else { return }
        work.withLock { $0.take() }?(image)
    }
}

/// Work that runs when the last reference to this object is released.
final class OnDeinit: Sendable {
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }

    deinit {
        work()
    }
}
