// Jobs whose rendition is shown.
extension JobGraph {
    /// Ends a look-up that found the image: the job does not need its fetch.
    /// - Returns: The priority of the job; `nil` when bytes arrived first.
    mutating func useRendition(_ id: Job.ID, isStale: Bool = false) -> (priority: ImagePriority, effects: [Effect])? {
        guard let job = jobs[id], case .lookingUp(let fetch, _) = job.phase else { return nil }
        updateJob(id) { ($0.phase, $0.isStale) = (.decoding(nil), isStale) }
        endPreview(of: id)
        updateFetch(fetch) { $0.jobs.removeAll { $0 == id } }
        return (job.priority, leaveFetch(fetch))
    }

    /// Reverts ``useRendition(_:)``: the rendition is damaged, so the bytes are needed after all.
    mutating func discardRendition(_ id: Job.ID) -> [Effect] {
        guard let job = jobs[id], case .decoding = job.phase, let task = job.tasks.first else { return [] }
        let fetch = fetch(job.key.fetch, for: task.request, age: Serial.nextAge(), priority: task.priority)
        updateFetch(fetch) { $0.jobs.append(id) }
        updateJob(id) { ($0.phase, $0.isStale) = (.waiting(fetch), false) }
        return startFetch(fetch) + updatePriority(of: fetch)
    }

    /// Refreshes an image for its next use: after the first of the jobs that show it has ended, or at once if there is none.
    mutating func refresh(_ request: ImageRequest, after jobs: [Job.ID]) -> [Effect] {
        for id in jobs { updateJob(id) { $0.isStale = true } }
        return jobs.isEmpty ? [.refresh(request)] : []
    }
}
