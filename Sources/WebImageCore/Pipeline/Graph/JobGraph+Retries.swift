import FoundationEssentials

// Fetches that ask the server about cached images, that fail, and that begin again.
extension JobGraph {
    /// Fetches bytes again that turned out to be incomplete, as after a failed attempt.
    mutating func fetchAgain(_ id: Job.ID, after data: FetchedData, _ error: ImageError) -> [Effect] {
        endPreview(of: id)
        let effects = discardRendition(id)
        guard let fetch = jobs[id]?.fetch, case .lookUpOriginal? = effects.first else { return effects }
        updateFetch(fetch) { fetch in
            fetch.phase = .starting
            fetch.failures = data.failures.earlier
            fetch.attemptStart = data.failures.start
            fetch.attemptCount = fetch.failures.count + 1
        }
        return [.recover(fetch, error)]
    }

    /// Keeps an original that the server is to validate.
    /// - Parameter isAnswer: Whether the entry may be used when the server is unreachable. Default: yes.
    mutating func validate(_ entry: CacheEntry, in id: Fetch.ID, isAnswer: Bool = true) {
        guard let fetch = fetches[id] else { return }
        var head = entry
        head.data = Data()
        updateFetch(id) { fetch in
            fetch.validation = .original(head, isAnswer: isAnswer)
            fetch.wantsStreaming = false
        }
        for job in fetch.jobs { endPreview(of: job) }
    }

    /// Makes a fetch read the original that it will use. If that is gone, the loader is asked again for the whole body.
    mutating func readConfirmed(_ id: Fetch.ID, _ confirmation: Confirmation) -> [Effect] {
        guard let fetch = fetches[id] else { return [] }
        // The operation of the attempt is an object of the loader, so it is released while the lock is free.
        releaseLater(fetch)
        updateFetch(id) { fetch in
            (fetch.phase, fetch.validation) = (.lookingUp(nil), .confirmed(confirmation))
        }
        return [.lookUpOriginal(id, fetch.priority)]
    }

    /// Whether the caches have an image for a fetch that is too old to be used without the server.
    func hasCachedImage(_ id: Fetch.ID) -> Bool {
        if case .none? = fetches[id]?.validation { false } else { fetches[id] != nil }
    }

    /// Makes a fetch wait for its next attempt.
    mutating func beginBackoff(_ id: Fetch.ID, after error: ImageError, at now: Date) {
        guard let fetch = fetches[id] else { return }
        // The operation of the attempt is an object of the loader, so it is released while the lock is free.
        releaseLater(fetch)
        updateFetch(id) { fetch in
            fetch.phase = .backingOff
            fetch.failures.append(fetch.attempt(failingWith: error, at: now))
            fetch.attemptStart = nil
            if error.code == .offline { fetch.hasWaitedForNetwork = true }
        }
    }

    /// Asks the loader again, unless the backoff after this attempt has already ended.
    mutating func endBackoff(_ id: Fetch.ID, afterAttempt attempt: Int) -> [Effect] {
        guard let fetch = fetches[id], case .backingOff = fetch.phase, fetch.attemptCount == attempt else { return [] }
        updateFetch(id) { $0.phase = .starting }
        return [.load(id)]
    }

    /// Ends every backoff, because the network is back.
    mutating func endAllBackoffs() -> [Effect] {
        fetches.flatMap { endBackoff($0.key, afterAttempt: $0.value.attemptCount) }
    }

    /// Ends a fetch that failed, and the jobs that wait for it.
    /// - Returns: The tasks of these jobs.
    mutating func failFetch(_ id: Fetch.ID) -> [ImageTask] {
        guard let fetch = removeFetch(id) else { return [] }
        // The rendition cache may still answer these jobs. If not, they fetch the bytes again.
        let lookingUp = fetch.jobs.filter { jobs[$0]?.isLookingUp == true }
        if let task = lookingUp.first.flatMap({ jobs[$0]?.tasks.first }),
            let priority = lookingUp.compactMap({ jobs[$0]?.priority }).max()
        {
            let next = Fetch.ID(number: Serial.nextAge())
            insertFetch(next, fetch.key, for: task.request, priority: priority)
            updateFetch(next) { $0.jobs = lookingUp }
            for id in lookingUp {
                updateJob(id) { job in
                    if case .lookingUp(_, let ticket) = job.phase { job.phase = .lookingUp(next, ticket) }
                }
                endPreview(of: id)
            }
        }
        return fetch.jobs.filter { !lookingUp.contains($0) }.flatMap { finishJob($0) }
    }
}
