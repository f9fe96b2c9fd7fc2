import FoundationEssentials
import Synchronization

/// A helper of stage 1, on the I/O queue: looks on the disk for a larger file of an image than the one that fits. Such
/// a file is decoded at the requested size, and nothing is downloaded.
struct VariantStage: PipelineStage {
    let context: StageContext
    private var clock: any TimeKeeping { context.dependencies.diskWatchClock }

    /// The tasks that wait for the disk.
    var tasks: [ImageTask] { context.waitingForVariants.withLock { Array($0.values) } }

    /// Loads the image of a task from a larger file on disk, or lets the task join the job of the file that it asked for.
    func start(_ task: ImageTask) {
        let request = task.request
        guard dataCache != nil, request.readTiers.contains(.originals), request.variantChoice?.isFinal == false,
            diskWatch.begin(request)
        else { return intake.add(.enter(task)) }
        context.waitingForVariants.withLock { $0[ObjectIdentifier(task)] = task }
        ioQueue.submit(priority: task.priority) {
            self.goOn(with: task, self.find(for: request))
            diskWatch.end()
        }
        // A disk that hangs must not hold up the load, unless only the disk may have the image.
        guard request.cachePolicy.asksLoader else { return }
        clock.run(after: context.dependencies.diskTimeLimit) { [weak context, weak task] in
            if let context, let task { VariantStage(context: context).goOn(with: task, nil) }
        }
    }

    /// The request for the smallest larger file on the disk; `nil` if there is none, or if the file that fits is there.
    private func find(for request: ImageRequest) -> ImageRequest? {
        guard let dataCache, !dataCache.contains(request.sourceKey) else { return nil }
        let rendition = ImageKey(request).renditionKey(size: request.resolvedDecodeSize)
        guard renditions.cache?.contains(rendition) != true else { return nil }
        let rank = request.largerVariants.first { dataCache.contains(request.reading(variant: $0).sourceKey) }
        return rank.map { request.with(variant: $0) }
    }

    /// - Parameter found: The request for a file that is used instead of the one that fits.
    private func goOn(with task: ImageTask, _ found: ImageRequest?) {
        guard context.waitingForVariants.withLock({ $0.removeValue(forKey: ObjectIdentifier(task)) }) != nil,
            task.isLoading
        else { return }
        guard var request = found else { return intake.add(.enter(task)) }
        request.variantChoice?.isFinal = true
        request.priority = task.priority
        request.previewURL = nil
        // The server may have removed the larger file since.
        request.fallbackURLs.insert(task.request.url, at: 0)
        request.variantChoice?.replacedRank = task.request.variantRank
        _ = task.startChild(request, task.forwarding) { task.finish($0) }
    }
}
