import FoundationEssentials
import Synchronization

// How old entries are removed, and the oldest when there are too many.
extension DiskCache {
    /// Measures the directory at the first write, once an hour, and when it may have grown too large.
    func trimIfNeeded() {
        let isDue = state.withLock { state in
            guard let size = state.size else { return true }
            return size > limits.sizeLimit || now() > state.lastCount + 3600 || now() < state.lastCount
        }
        if isDue { trim() }
    }

    private func date(of file: StoredFile) -> Double {
        switch limits.expiry {
        case .lastUse: file.lastUse
        case .stored: file.modified
        case .lastChange: file.changed
        }
    }

    /// Whether an app has asked for an entry to be kept for longer than the others. Only the files that would go are read.
    private func isKept(_ file: StoredFile, at time: Double) -> Bool {
        guard let entry = try? tail(of: file.path, key: nil)?.entryWithoutData, let end = entry.response.ownEnd,
            let lifetime = entry.response.ownLifetime
        else { return false }
        // An entry from the future is kept for its lifetime at most.
        return time < end && end - time <= lifetime
    }

    /// Removes entries that are too old. If more than the limit remains, or a fraction is given, it removes the oldest
    /// entries until at most 80 % of the limit and that fraction of the present size remain.
    func trim(toFraction fraction: Double? = nil) {
        let now = now()
        limits.measure()
        // Other files belong to the user.
        var stored = files.files(below: directory).filter { DiskCacheLayout.isEntry($0.path) }
        var size = stored.reduce(0) { $0 + $1.size }
        func remove(_ file: StoredFile) {
            size -= file.size
            attempt { try files.remove(file.path) }
        }
        stored.removeAll { file in
            // A clock that was set back leaves files from the future. They are kept: it may be wrong now.
            let isOld = date(of: file) < now - limits.maximumAge
            // A process that was killed while it wrote leaves a temporary file.
            let isLeftover = file.path.hasSuffix(DiskCacheLayout.temporarySuffix) && file.modified < now - 600
            guard isLeftover || isOld && !isKept(file, at: now) else { return false }
            remove(file)
            return true
        }
        if size > limits.sizeLimit || fraction != nil {
            let target = Int(bounded: Double(limits.sizeLimit) * 0.8)
            let goal = fraction.map { min(target, Int(bounded: Double(size) * $0)) } ?? target
            // Nothing used today could outlast files from next year, so that those go first.
            func rank(_ file: StoredFile) -> (Int, Double) { (date(of: file) > now + 86_400 ? 0 : 1, date(of: file)) }
            for file in stored.sorted(by: { rank($0) < rank($1) }) where size > goal { remove(file) }
        }
        state.withLock { state in
            state.size = size
            state.lastCount = now
        }
    }
}
