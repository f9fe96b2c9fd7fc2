import FoundationEssentials
import Synchronization

/// The bytes of a fetch and where they came from, shared by the jobs that decode them.
struct FetchedData: Sendable {
    /// The bytes, empty when the server confirmed renditions and there is no original.
    var loaded: LoaderResult
    let origin: LoadSource
    /// The format of the bytes, recognised once for all that ask.
    let format: ImageFormat
    /// Puts the bytes into the disk cache, when it is first called.
    let storeOriginal: OriginalStore?
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

    init(loaded: LoaderResult, origin: LoadSource, storeOriginal: OriginalStore?) {
        self.loaded = loaded
        format = ImageFormat(sniffing: loaded.data)
        self.origin = origin
        self.storeOriginal = storeOriginal
    }

    /// The bytes of a disk-cache entry.
    init(stored: CacheEntry, origin: LoadSource) {
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

/// The storing of an original, which the first of several jobs does that decode it.
final class OriginalStore: Sendable {
    private struct State {
        var begin: (@Sendable () -> Void)?
        var store: (@Sendable (WebImage?) -> Void)?
        var isPostponed = false
        var isDone = false
        var waiting: [@Sendable () -> Void] = []
    }

    /// Whether the whole image is needed, at its own size and with all frames.
    let needsWholeImage: Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - needsWholeImage: Whether only a caller with the whole image can store.
    ///   - begin: Called once it is clear that the bytes are an image.
    ///   - store: Called after that with the image, if it was decoded.
    init(
        needsWholeImage: Bool,
        begin: @escaping @Sendable () -> Void,
        store: @escaping @Sendable (WebImage?) -> Void
    ) {
        self.needsWholeImage = needsWholeImage
        state = Mutex(State(begin: begin, store: store))
    }

    /// Whether nobody has stored yet.
    var isPending: Bool { state.withLock { $0.store != nil } }

    /// - Parameter image: The decoded image, if it was decoded.
    func perform(_ image: WebImage?) {
        guard image != nil || !needsWholeImage else { return }
        end(with: image)
    }

    /// Does the work without an image where it needs one, which could not be decoded.
    func end(with image: WebImage?) {
        let (begin, store) = state.withLock { ($0.begin.take(), $0.store.take()) }
        begin?()
        guard let store else { return }
        store(image)
        let waiting = state.withLock { state in
            state.isDone = true
            return exchange(&state.waiting, with: [])
        }
        for body in waiting { body() }
    }

    /// Leaves the work to whoever decodes the whole image.
    /// - Returns: Whether that is the caller.
    func postpone() -> Bool {
        let (begin, isFirst) = state.withLock { state in
            let isFirst = state.store != nil && !state.isPostponed
            if isFirst { state.isPostponed = true }
            return (state.begin.take(), isFirst)
        }
        begin?()
        return isFirst
    }

    /// Runs a body once what was begun or postponed is done, or within this call when nothing was.
    func whenDone(_ body: @escaping @Sendable () -> Void) {
        let isDone = state.withLock { state in
            let isDone = state.isDone || state.store != nil && !state.isPostponed
            if !isDone { state.waiting.append(body) }
            return isDone
        }
        if isDone { body() }
    }
}
