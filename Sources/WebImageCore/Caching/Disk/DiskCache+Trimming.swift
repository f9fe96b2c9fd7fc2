import FoundationEssentials
import Synchronization

// Removes expired entries, and the oldest ones if the cache is too large.
extension DiskCache {
    /// Trims at the first write, once an hour, when the size may exceed the limit, and after the clock was set back.
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

    /// Whether an entry has its own lifetime, which has not ended. Only files that would be removed are read.
    private func isKept(_ file: StoredFile, at time: Double) -> Bool {
        guard let entry = try? tail(of: file.path, key: nil)?.entryWithoutData, let end = entry.response.ownEnd,
            let lifetime = entry.response.ownLifetime
        else { return false }
        // An entry dated in the future is kept for its lifetime at most.
        return time < end && end - time <= lifetime
    }

    /// Removes expired entries. If the rest exceeds the limit, or a fraction is given, also removes the oldest entries until at
    /// most 80 % of the limit, and that fraction of the present size, remain.
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
            // A clock that was set back leaves files dated in the future. They are kept because the clock may be wrong now.
            let isOld = date(of: file) < now - limits.maximumAge
            // A process killed during a write leaves a temporary file.
            let isLeftover = file.path.hasSuffix(DiskCacheLayout.temporarySuffix) && file.modified < now - 600
            guard isLeftover || isOld && !isKept(file, at: now) else { return false }
            remove(file)
            return true
        }
        if size > limits.sizeLimit || fraction != nil {
            let target = Int(bounded: Double(limits.sizeLimit) * 0.8)
            let goal = fraction.map { min(target, Int(bounded: Double(size) * $0)) } ?? target
            // Files dated more than a day ahead go first; otherwise they would outlast all others.
            func rank(_ file: StoredFile) -> (Int, Double) { (date(of: file) > now + 86_400 ? 0 : 1, date(of: file)) }
            for file in stored.sorted(by: { rank($0) < rank($1) }) where size > goal { remove(file) }
        }
        state.withLock { state in
            state.size = size
            state.lastCount = now
        }
    }
}
