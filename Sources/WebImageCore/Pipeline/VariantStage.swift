import FoundationEssentials
import Synchronization

/// Beside stage 1, on the I/O queue: whether the disk has a larger file of an image than the one that fits. It is decoded at the
/// size that is asked for, and nothing is downloaded. One of lower quality serves, too, or is shown until the other one is there.
final class VariantStage: Sendable {
    private let dataCache: (any DataCaching)?
    private let renditionCache: DiskCache?
    private let ioQueue: WorkQueue
    private let timeLimit: Duration
    private let clock: any TimeKeeping
    private let watch: DiskWatch
    private let next: GraphIntake
    /// What the disk has of an image.
    private struct Found {
        /// The request for a file that serves instead of the one that fits.
        var serving: ImageRequest?
        /// The request for a file that is shown until that one is there.
        var preview: ImageRequest?
    }

    private let waiting = Mutex<[ObjectIdentifier: ImageTask]>([:])

    init(_ dependencies: Pipeline.Dependencies, watch: DiskWatch, next: GraphIntake) {
        dataCache = dependencies.dataCache
        renditionCache = dependencies.renditionCache
        ioQueue = dependencies.ioQueue
        timeLimit = dependencies.diskTimeLimit
        clock = dependencies.diskWatchClock
        self.watch = watch
        self.next = next
    }

    /// The tasks that wait for the disk.
    var tasks: [ImageTask] { waiting.withLock { Array($0.values) } }

    /// Loads the image of a task from a larger file on disk, or has the task join the job of its own file.
    func start(_ task: ImageTask) {
        let request = task.request
        guard dataCache != nil, request.readTiers.contains(.originals), request.variantChoice?.isFinal == false,
            watch.begin(request)
        else { return next.add(.join(task)) }
        waiting.withLock { $0[ObjectIdentifier(task)] = task }
        ioQueue.submit(priority: task.priority) {
            self.goOn(with: task, self.find(for: request))
            self.watch.end()
        }
        // A disk that hangs must not hold the load up, unless nothing else has the image.
        guard request.cachePolicy.asksLoader else { return }
        clock.run(after: timeLimit) { [weak self, weak task] in
            if let task { self?.goOn(with: task, Found()) }
        }
    }

    /// The smallest larger file that the disk has, or else the best one of lower quality; neither when it has the one that fits.
    private func find(for request: ImageRequest) -> Found {
        guard let dataCache, !dataCache.contains(request.sourceKey) else { return Found() }
        let rendition = ImageKey(request).renditionKey(size: request.resolvedDecodeSize)
        guard renditionCache?.contains(rendition) != true else { return Found() }
        func isThere(_ rank: Int) -> Bool { dataCache.contains(request.reading(variant: rank).sourceKey) }
        let serving = request.largerVariants.first(where: isThere) ?? request.servingLowerVariants.last(where: isThere)
        if let serving { return Found(serving: request.with(variant: serving)) }
        return Found(preview: request.previewVariants.last(where: isThere).map { request.with(variant: $0) })
    }

    private func goOn(with task: ImageTask, _ found: Found) {
        guard waiting.withLock({ $0.removeValue(forKey: ObjectIdentifier(task)) }) != nil, !task.isCancelled else {
            return
        }
        if let preview = found.preview { startPreview(preview, of: task) }
        guard var request = found.serving else { return next.add(.join(task)) }
        request.variantChoice?.isFinal = true
        request.priority = task.priority
        request.previewURL = nil
        // The server may have removed it since.
        request.fallbackURLs.insert(task.request.url, at: 0)
        request.variantChoice?.replacedRank = task.request.variantRank
        let partial: @Sendable (WebImage) -> Void = { task.report(partial: $0) }
        _ = task.startChild(
            request,
            .nonisolated(
                progress: { task.report(received: $0, expected: $1) },
                partial: task.showsPartialImages ? partial : nil,
                completion: { task.finish($0) }
            )
        )
    }

    /// Shows a file of lower quality from the disk, unless something better is shown already.
    private func startPreview(_ preview: ImageRequest, of task: ImageTask) {
        guard task.wantsPreview else { return }
        var request = preview
        request.variantChoice?.isFinal = true
        (request.priority, request.loading, request.cachePolicy) = (task.priority, .complete, .cachedOnly)
        (request.fallbackURLs, request.previewURL) = ([], nil)
        _ = task.startChild(
            request,
            .completion { result in
                guard case .success(let response) = result else { return }
                task.report(partial: response.image.asPreview, as: .other)
            }
        )
    }
}
