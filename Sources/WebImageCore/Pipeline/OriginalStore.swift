import FoundationEssentials
import Synchronization

/// The bytes of a fetch, which the disk cache keeps once they have decoded: it never has what is no image. The first of several jobs
/// stores them.
struct OriginalStore: PipelineStage {
    /// The bytes of a fetch among those of its image.
    struct Version: Sendable {
        /// The key of the image.
        let key: String
        let url: URL
        let mark: ImageVersions.Mark
        /// Whether the caches may have other bytes of the image, which these replace.
        let replacesCached: Bool
    }

    private enum Phase {
        case pending
        /// A job decodes the whole image for it.
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

    /// Whether the whole image is needed, at its own size and with all frames.
    var needsWholeImage: Bool { serializer != nil }

    /// Whether nothing has been stored yet.
    var isPending: Bool { progress.state.withLock { $0.phase == .pending || $0.phase == .postponed } }

    /// Stores the bytes, unless that takes the whole image.
    /// - Parameter image: The decoded image, if it was decoded.
    func perform(_ image: WebImage?) {
        guard image != nil || !needsWholeImage else { return }
        end(with: image)
    }

    /// Stores the bytes, or nothing where that takes an image, which could not be decoded. The first call counts.
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

    /// Leaves the work to a job that decodes the whole image.
    /// - Returns: Whether the caller makes that job.
    func postpone() -> Bool {
        let isFirst = progress.state.withLock { state in
            guard state.phase == .pending else { return false }
            state.phase = .postponed
            return true
        }
        if isFirst { begin() }
        return isFirst
    }

    /// Runs a body once what was begun or postponed is done, or within this call when nothing was.
    func whenDone(_ body: @escaping @Sendable () -> Void) {
        let waits = progress.state.withLock { state in
            guard state.phase == .postponed || state.phase == .storing else { return false }
            state.waiting.append(body)
            return true
        }
        if !waits { body() }
    }

    /// Replaces the version before in the caches, since it is clear that the bytes are an image.
    private func begin() {
        let (key, mark) = (version.key, version.mark)
        guard versions.isCurrent(mark, of: key) else { return }
        if version.replacesCached {
            versions.change(key, to: mark, isBeingStored: true)
            // Loads of other sizes may have found the version before since the bytes have arrived.
            memoryCache.removeImages(source: key)
        }
        // Renditions of the version before would be served again once this original is evicted.
        renditions.cache?.outdateVariants(of: key)
        guard needsWholeImage, version.replacesCached else { return }
        // A serializer takes its time, in which loads of other sizes would find the version before.
        context.dependencies.storeOrder.perform(key) { [dataCache, versions] in
            if versions.isCurrent(mark, of: key) { dataCache?.remove(key) }
        }
    }

    private func store(_ image: WebImage?) {
        let (key, url) = (version.key, version.url)
        guard versions.isCurrent(version.mark, of: key) else { return }
        // What is kept is for all requests.
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
        // The app may have stored or removed one since the bytes have arrived.
        context.dependencies.storeOrder.perform(key) { [dataCache, versions, version, entry] in
            guard versions.isCurrent(version.mark, of: key) else { return }
            dataCache?.store(entry)
            if version.replacesCached { versions.change(key, to: version.mark) }
        }
        context.writer.schedule()
    }
}
