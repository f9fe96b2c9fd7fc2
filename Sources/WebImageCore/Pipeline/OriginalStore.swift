import FoundationEssentials
import Synchronization

/// The bytes of a fetch, which the disk cache stores only once they have decoded, so that it never stores a file that
/// is not an image. The first of several jobs stores them.
struct OriginalStore: PipelineStage {
    /// Identifies the bytes of a fetch among the versions of an image.
    struct Version: Sendable {
        /// The key of the image.
        let key: String
        let url: URL
        let mark: ImageVersions.Mark
        /// Whether these bytes replace other bytes of the image in the caches.
        let replacesCached: Bool
    }

    private enum Phase {
        case pending
        /// A job decodes the whole image in order to store it.
        case postponed
        case storing
        case done
    }

    private final class Progress: Sendable {
        let state = Mutex((phase: Phase.pending, waiting: [@Sendable () -> Void]()))
    }

    let context: StageContext
    let loaded: LoaderResult
    let version: Version
    /// The date of the entry: ``CacheEntry/storedAt``.
    let date: Date
    private let progress = Progress()
    private var serializer: CacheSerializer? { context.dependencies.serializer }

    init(_ loaded: LoaderResult, of version: Version, date: Date, context: StageContext) {
        (self.loaded, self.version, self.date, self.context) = (loaded, version, date, context)
    }

    /// Whether storing needs the whole image, at its original size and with all frames.
    var needsWholeImage: Bool { serializer != nil }

    /// Whether nothing has been stored yet.
    var isPending: Bool { progress.state.withLock { $0.phase == .pending || $0.phase == .postponed } }

    /// Stores the bytes, unless that needs the whole image.
    /// - Parameter image: The decoded image, if it was decoded.
    func perform(_ image: WebImage?) {
        guard image != nil || !needsWholeImage else { return }
        end(with: image)
    }

    /// Stores the bytes, or nothing if storing needs an image that could not be decoded. Only the first call has an effect.
    func end(with image: WebImage?) {
        let last = progress.state.withLock { state in
            defer { if state.phase != .done { state.phase = .storing } }
            return state.phase
        }
        guard last == .pending || last == .postponed else { return }
        if last == .pending { begin() }
        store(image)
        let waiting = progress.state.withLock { state in
            state.phase = .done
            return exchange(&state.waiting, with: [])
        }
        for body in waiting { body() }
    }

    /// Leaves storing to a job that decodes the whole image.
    /// - Returns: Whether the caller must create that job.
    func postpone() -> Bool {
        let isFirst = progress.state.withLock { state in
            guard state.phase == .pending else { return false }
            state.phase = .postponed
            return true
        }
        if isFirst { begin() }
        return isFirst
    }

    /// Runs a closure once storing that was begun or postponed has ended, or within this call if storing was not begun.
    func whenDone(_ body: @escaping @Sendable () -> Void) {
        let waits = progress.state.withLock { state in
            guard state.phase == .postponed || state.phase == .storing else { return false }
            state.waiting.append(body)
            return true
        }
        if !waits { body() }
    }

    /// Replaces the previous version in the caches, now that the bytes are known to be an image.
    private func begin() {
        let (key, mark) = (version.key, version.mark)
        guard versions.isCurrent(mark, of: key) else { return }
        if version.replacesCached {
            versions.change(key, to: mark, isBeingStored: true)
            // Loads of other sizes may have found the previous version after the bytes arrived.
            memoryCache.removeImages(source: key)
        }
        // Renditions of the previous version would be used again once this original is evicted.
        renditions.cache?.outdateVariants(of: key)
        guard needsWholeImage, version.replacesCached else { return }
        // A serializer takes time, during which loads of other sizes would find the previous version.
        context.dependencies.storeOrder.perform(key) { [dataCache, versions] in
            if versions.isCurrent(mark, of: key) { dataCache?.remove(key) }
        }
    }

    private func store(_ image: WebImage?) {
        let (key, url) = (version.key, version.url)
        guard versions.isCurrent(version.mark, of: key) else { return }
        // The stored image is for all requests, so it is upright.
        let image = image?.upright
        var data = loaded.data
        if let serializer {
            guard let image, let serialized = serializer.serialize(image, data, url) else {
                return storeStage.removeOriginal(key, for: version)
            }
            data = serialized
        }
        var entry = CacheEntry(key: key, data: data, response: loaded.metadata, storedAt: date)
        if context.dependencies.keepsThumbHashes { entry.thumbHash = image.flatMap { ThumbHash(of: $0) } }
        observers.notify(url, .stored)
        // The app may have stored or removed an image since the bytes arrived.
        context.dependencies.storeOrder.perform(key) { [dataCache, versions, version, entry] in
            guard versions.isCurrent(version.mark, of: key) else { return }
            dataCache?.store(entry)
            if version.replacesCached { versions.change(key, to: version.mark) }
        }
        context.writer.schedule()
    }
}
