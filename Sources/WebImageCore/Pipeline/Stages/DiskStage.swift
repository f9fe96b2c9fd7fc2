import FoundationEssentials

/// Stage 3, on the I/O queue: the disk cache of originals. A fresh original is decoded. Otherwise the loader is asked,
/// for the bytes or whether the original is still current.
struct DiskStage: PipelineStage {
    let context: StageContext
    /// Reads the disk cache for a fetch. A fetch that is not cached there goes to its loader at once.
    func lookUp(_ id: JobGraph.Fetch.ID, _ priority: ImagePriority) {
        guard let request = graph.request(of: id) else { return }
        let loader = loaders.loader(for: request)
        // The app may have stored an image for a URL that no loader accepts.
        guard dataCache != nil, loader?.shouldCacheOnDisk(request.url) ?? true,
            request.readTiers.contains(.originals), diskWatch.begin(request)
        else {
            fetchStage.load(id, with: loader)
            return
        }
        // It runs before look-ups of renditions for later loads, or the first transfer would wait for all of them. It does
        // not if another job of the fetch still looks for its rendition, with which the server can be asked for less.
        let isResumed = graph.withLock { $0.isNeededByAll(id) }
        let ticket = ioQueue.submit(priority: priority, isResumed: isResumed) { self.read(id, loader) }
        graph.withLock { $0.setReadTicket(ticket, of: id) }
    }

    private func read(_ id: JobGraph.Fetch.ID, _ loader: (any DataLoading)?) {
        // This also runs if nothing is read, because the thread was not waiting for the disk.
        defer { diskWatch.end() }
        guard let request = graph.request(of: id), hasRoom(for: id, again: { self.lookUp(id, $0) }) else { return }
        let (start, mark) = (ContinuousClock.now, versions.mark(reading: request.sourceKey))
        let entry = dataCache?.entry(for: request.sourceKey)
        guard graph.withLock({ $0.endLookUp(id) }) else { return }
        guard let entry else {
            observers.notify(request.url, .diskMiss(.now - start))
            fetchStage.load(id, with: loader)
            return
        }
        var data = FetchedData(stored: entry, origin: .disk)
        data.mark = mark
        data.readingDuration = .now - start
        observers.notify(request.url, .diskHit(data.readingDuration))
        data.reservation = budget.holdBody(entry.data.count)
        if let hash = entry.thumbHash { show(hash, id) }
        switch context.dependencies.use(of: entry, for: request) {
        case .use:
            decodeStage.decode(id, data)
        case .useAndRefresh:
            data.isStale = true
            decodeStage.decode(id, data)
        case .confirm:
            graph.withLock { $0.validate(entry, in: id, isAnswer: false) }
            fetchStage.load(id, with: loader)
        case .validate:
            graph.withLock { $0.validate(entry, in: id) }
            if request.cachePolicy.revalidatesCachedImage {
                staleImageStage.start(id, entry, holding: data.reservation)
            }
            fetchStage.load(id, with: loader)
        case .ignore:
            fetchStage.load(id, with: loader)
        }
    }

    /// Whether a body may be read now. Reading is faster than decoding, so bodies would pile up. If not, the fetch waits.
    private func hasRoom(
        for id: JobGraph.Fetch.ID,
        again: @escaping @Sendable (ImagePriority) -> Void
    ) -> Bool {
        if budget.hasRoomForBody { return true }
        guard graph.withLock({ $0.waitForRoom(id) }) else { return false }
        // The closure runs on the thread that releases a body.
        budget.whenRoomForBody {
            self.ioQueue.submit {
                guard let priority = self.graph.withLock({ $0.endWaitForRoom(id) }) else { return }
                again(priority)
            }
        }
        return false
    }

    /// Reads the original that the server has confirmed, or that is used because the server is unreachable.
    func readConfirmed(_ id: JobGraph.Fetch.ID, _ confirmation: Confirmation, priority: ImagePriority) {
        guard let request = graph.request(of: id) else { return }
        guard diskWatch.begin(request) else {
            if graph.withLock({ $0.endLookUp(id) }) { goOnWithout(confirmation, id) }
            return
        }
        let ticket = ioQueue.submit(priority: priority) { self.readNow(id, confirmation) }
        graph.withLock { $0.setReadTicket(ticket, of: id) }
    }

    private func readNow(_ id: JobGraph.Fetch.ID, _ confirmation: Confirmation) {
        defer { diskWatch.end() }
        guard hasRoom(for: id, again: { self.readConfirmed(id, confirmation, priority: $0) }) else { return }
        let (start, mark) = (ContinuousClock.now, versions.mark(reading: confirmation.entry.key))
        var entry = dataCache?.entry(for: confirmation.entry.key)
        guard graph.withLock({ $0.endLookUp(id) }) else { return }
        // Another process may have removed or replaced the original in the meantime.
        let confirmed = confirmation.entry.response.validators
        if !confirmed.areSame(as: entry?.response.validators) { entry = nil }
        guard let entry else { return goOnWithout(confirmation, id) }
        var data: FetchedData
        if let answer = confirmation.answer {
            data = FetchedData(stored: storeStage.renew(entry, with: answer.metadata), origin: .revalidated)
            (data.loaded.head, data.loaded.metrics) = (answer.head, answer.metrics)
        } else {
            data = FetchedData(stored: entry, origin: .disk)
            data.refreshError = confirmation.refreshError
        }
        data.mark = mark
        data.readingDuration = .now - start
        data.reservation = budget.holdBody(entry.data.count)
        decodeStage.decode(id, data)
    }

    /// Continues without an original that is no longer there.
    private func goOnWithout(_ confirmation: Confirmation, _ id: JobGraph.Fetch.ID) {
        if let error = confirmation.refreshError { deliveryStage.fail(id, error) } else { fetchStage.load(id) }
    }

    /// Shows the blurred version of an image to the tasks that want partial images.
    private func show(_ hash: ThumbHash, _ id: JobGraph.Fetch.ID) {
        let tasks = graph.withLock { $0.tasks(of: id) }.filter { task in
            task.wantsPartialImages && task.request.appliesOrientation
        }
        guard !tasks.isEmpty, let image = hash.image?.asPreview else { return }
        for task in tasks { task.report(partial: image, as: .hash) }
    }
}
