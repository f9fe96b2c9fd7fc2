import FoundationEssentials
import Synchronization

/// Remembers failures that would repeat, so that a list that scrolls over a missing image asks the server once.
package final class FailureCache: Sendable {
    private struct Entry {
        let error: ImageError
        let start: Date

        /// A date in the future means that the clock was set back. The entry then counts as expired.
        func isValid(for lifetime: Double, _ now: Date) -> Bool {
            (0..<lifetime).contains(now.timeIntervalSince(start))
        }
    }

    /// What a failure depends on besides the cache key. Servers deny images to clients without permission, some with
    /// 404, and several URLs can share one key although only some of them fail.
    private struct Origin: Hashable {
        /// The hash of the URL without its signature; 0 if the URL is the key.
        let url: Int
        /// The hash of the options and of the user name and password. The secrets themselves need not stay in memory.
        let secrets: Int
        let loader: ObjectIdentifier?

        init(_ request: ImageRequest) {
            var hasher = Hasher()
            url = request.cacheKey == nil ? 0 : request.url.withoutSignature.hashValue
            hasher.combine(request.boxedNetworkOptions)
            hasher.combine(request.url.userInfo)
            secrets = hasher.finalize()
            loader = request.loader.map { $0.identity }
        }
    }

    private struct State {
        var entries: [String: [Origin: Entry]] = [:]
        var count = 0

        mutating func remove(_ key: String, _ origin: Origin) -> Entry? {
            guard let entry = entries[key]?.removeValue(forKey: origin) else { return nil }
            count -= 1
            if entries[key]?.isEmpty == true { entries[key] = nil }
            return entry
        }

        /// - Returns: All failures from before.
        mutating func keep(where isKept: (Entry) -> Bool) -> [String: [Origin: Entry]] {
            let old = entries
            entries = old.compactMapValues { known in
                let kept = known.filter { isKept($0.value) }
                return kept.isEmpty ? nil : kept
            }
            count = entries.values.reduce(0) { $0 + $1.count }
            return old
        }
    }

    private static let countLimit = 2000

    private let lifetime: Duration
    private let state = Mutex(State())

    /// - Parameter lifetime: How long a failure is remembered. Zero remembers none.
    package init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    var isEmpty: Bool { state.withLock { $0.count == 0 } }

    func error(for request: ImageRequest, now: Date) -> ImageError? {
        let (key, lifetime) = (request.sourceKey, lifetime.bounded / .seconds(1))
        // Few URLs have failed, so few requests get further than this. Expired entries are replaced or evicted later.
        guard let known = state.withLock({ $0.entries[key] }), let entry = known[Origin(request)] else { return nil }
        return entry.isValid(for: lifetime, now) ? entry.error : nil
    }

    func remember(_ error: ImageError, for request: ImageRequest, now: Date) {
        guard lifetime > .zero else { return }
        let (key, origin, lifetime) = (request.sourceKey, Origin(request), lifetime.bounded / .seconds(1))
        var error = error
        error.isRemembered = true
        // The header fields can be long, and many failures are remembered.
        error.head?.headers = [:]
        // There may be thousands of attempts.
        error.attemptList = nil
        state.release { state in
            let isFull = state.count >= Self.countLimit
            let outdated = isFull ? state.keep { $0.isValid(for: lifetime, now) } : [:]
            if state.count >= Self.countLimit { state = State() }
            let old = state.entries[key, default: [:]].updateValue(Entry(error: error, start: now), forKey: origin)
            if old == nil { state.count += 1 }
            return (outdated, old)
        }
    }

    /// Forgets the failure of a request that has succeeded.
    func forget(_ request: ImageRequest) {
        let key = request.sourceKey
        state.release { state in
            // Few URLs have failed, so few requests get further than this.
            state.entries[key] == nil ? nil : state.remove(key, Origin(request))
        }
    }

    /// Forgets the failures of all requests for a URL.
    func forget(_ key: String) {
        state.release { state in
            let known = state.entries.removeValue(forKey: key)
            state.count -= known?.count ?? 0
            return known
        }
    }

    /// Forgets decoding failures, because a decoder was added.
    func forgetUndecodable() {
        state.release { $0.keep { !$0.error.isOfDecoding } }
    }

    func forgetAll() {
        state.release { exchange(&$0, with: State()) }
    }
}
