package import FoundationEssentials
import Synchronization

/// The failures that would repeat. A list that scrolls over a missing image asks the server once.
package final class FailureCache: Sendable {
    private struct Entry {
        let error: ImageError
        let expires: Date
    }

    private static let countLimit = 2000

    private let lifetime: Duration
    private let entries = Mutex<[String: Entry]>([:])

    /// - Parameter lifetime: How long a failure is remembered. Zero remembers none.
    package init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    package func error(for url: String, now: Date) -> ImageError? {
        entries.withLock { entries in
            guard let entry = entries[url] else { return nil }
            if entry.expires > now { return entry.error }
            entries[url] = nil
            return nil
        }
    }

    package func remember(_ error: ImageError, for url: String, now: Date) {
        guard lifetime > .zero else { return }
        let expires = now.addingTimeInterval(lifetime / .seconds(1))
        var error = error
        error.isRemembered = true
        entries.withLock { entries in
            if entries.count >= Self.countLimit {
                entries = entries.filter { $0.value.expires > now }
                if entries.count >= Self.countLimit { entries.removeAll() }
            }
            entries[url] = Entry(error: error, expires: expires)
        }
    }

    package func forget(_ url: String) {
        _ = entries.withLock { $0.removeValue(forKey: url) }
    }

    package func forgetAll() {
        entries.withLock { $0 = [:] }
    }
}
