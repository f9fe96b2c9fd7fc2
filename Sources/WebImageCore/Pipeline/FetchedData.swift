import FoundationEssentials

/// The bytes of a source and where they came from. Shared by the jobs that decode them.
struct FetchedData: Sendable {
    var loaded: LoaderResult
    let origin: ImageResponse.Source
    /// Puts the bytes into the disk cache, at the first call.
    let store: OnceClosure?
    /// Why these bytes have to serve although they may be old.
    var refreshError: ImageError?
    /// CacheEntry/storedAt of the original, if there is one or will be.
    var storedAt: Date?
    /// Between several jobs.
    var sharing: DecodeCoalescer?
    /// How long the disk cache took to give it.
    var readingDuration = Duration.zero
    /// What the disk cache gave.
    var entry: CacheEntry?
    /// What is done when all jobs are through with the bytes.
    var afterwards: OnDeinit?

    init(loaded: LoaderResult, origin: ImageResponse.Source, store: OnceClosure?) {
        self.loaded = loaded
        self.origin = origin
        self.store = store
    }

    /// The same for several jobs.
    func shared() -> FetchedData {
        var source = self
        source.sharing = DecodeCoalescer()
        return source
    }

    /// What the disk cache has.
    init(stored: CacheEntry, origin: ImageResponse.Source) {
        self.init(
            loaded: LoaderResult(data: stored.data, metadata: stored.response),
            origin: origin,
            store: nil
        )
        storedAt = stored.storedAt
        entry = stored
    }
}

/// Work that is done when nobody holds this any more.
final class OnDeinit: Sendable {
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }

    deinit {
        work()
    }
}
