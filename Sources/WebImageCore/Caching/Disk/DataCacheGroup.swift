import Dispatch
import Synchronization

/// Several caches as one: a cache of the app's own in front of one that it shares with others, for example.
public final class DataCacheGroup: DataCaching {
    /// Which of the caches are meant.
    public enum Policy: Sendable, Hashable {
        /// One after the other, the first one first; a question ends with the first answer.
        case serial
        /// All at the same time; of several answers that of the cache which comes first counts.
        case concurrent
        /// The first one.
        case highestOnly
        /// The last one.
        case lowestOnly
    }

    /// The policies of a group.
    public struct Policies: Sendable, Hashable {
        /// For entries that are asked for. What a later cache has is put into those before it. Default: serial.
        public var query = Policy.serial
        /// For entries that are stored. Default: the first cache only.
        public var store = Policy.highestOnly
        /// For entries that are removed. Default: concurrent.
        public var remove = Policy.concurrent
        /// For the question whether there is an entry. Default: serial.
        public var contains = Policy.serial
        /// For emptying, and for removing what is too old. Default: concurrent.
        public var removeAll = Policy.concurrent

        /// Makes policies of defaults.
        public init() {}
    }

    private struct State {
        var caches: [any DataCaching]
        var policies: Policies
    }

    private let state: Mutex<State>

    /// Makes a group. One without caches is a cache that misses.
    /// - Parameters:
    ///   - caches: The first one is the highest.
    ///   - policies: See Policies.
    public init(_ caches: [any DataCaching], policies: Policies = Policies()) {
        state = Mutex(State(caches: caches, policies: policies))
    }

    /// The caches, the highest first. May be changed at any time.
    public var caches: [any DataCaching] {
        get { state.withLock { $0.caches } }
        set { state.withLock { $0.caches = newValue } }
    }

    /// The policies. May be changed at any time.
    public var policies: Policies {
        get { state.withLock { $0.policies } }
        set { state.withLock { $0.policies = newValue } }
    }

    /// Asks by the policy for queries.
    public func entry(for key: String) -> CacheEntry? {
        let (caches, policy) = (caches, policies.query)
        guard let (index, entry) = Self.first(policy, caches, { $0.entry(for: key) }) else { return nil }
        if policy == .serial { for cache in caches[..<index] { cache.store(entry) } }
        return entry
    }

    /// Asks by the policy for queries; nothing is put into other caches.
    public func description(of key: String) -> CacheEntry? {
        Self.first(policies.query, caches) { $0.description(of: key) }?.answer
    }

    /// Asks by the policy for that.
    public func contains(_ key: String) -> Bool {
        Self.first(policies.contains, caches) { $0.contains(key) ? true : nil } != nil
    }

    /// Stores by the policy for that.
    public func store(_ entry: CacheEntry) {
        // Storing does not block, so all at the same time is one after the other.
        for cache in Self.chosen(policies.store, caches) { cache.store(entry) }
    }

    /// All of them: any may have taken something.
    public func flush() {
        for cache in caches { cache.flush() }
    }

    /// Removes by the policy for that.
    public func remove(_ key: String) {
        Self.each(policies.remove, caches) { $0.remove(key) }
    }

    /// By the policy for emptying.
    public func removeExpired() {
        Self.each(policies.removeAll, caches) { $0.removeExpired() }
    }

    /// By the policy for emptying.
    public func removeAll() {
        Self.each(policies.removeAll, caches) { $0.removeAll() }
    }

    /// Those of all caches together.
    public var totals: CacheUsage { caches.reduce(CacheUsage()) { $0 + $1.totals } }
}

extension DataCacheGroup {
    private static func chosen(_ policy: Policy, _ caches: [any DataCaching]) -> [any DataCaching] {
        switch policy {
        case .serial, .concurrent: caches
        case .highestOnly: Array(caches.prefix(1))
        case .lowestOnly: Array(caches.suffix(1))
        }
    }

    private static func first<Answer: Sendable>(
        _ policy: Policy,
        _ caches: [any DataCaching],
        _ ask: @Sendable (any DataCaching) -> Answer?
    ) -> (index: Int, answer: Answer)? {
        let asked = chosen(policy, caches)
        guard policy == .concurrent else {
            for (index, cache) in asked.enumerated() {
                if let answer = ask(cache) { return (index, answer) }
            }
            return nil
        }
        let answers = Mutex([Answer?](repeating: nil, count: asked.count))
        DispatchQueue.concurrentPerform(iterations: asked.count) { index in
            let answer = ask(asked[index])
            answers.withLock { $0[index] = answer }
        }
        let found = answers.withLock { $0 }
        guard let index = found.firstIndex(where: { $0 != nil }), let answer = found[index] else { return nil }
        return (index, answer)
    }

    private static func each(
        _ policy: Policy,
        _ caches: [any DataCaching],
        _ body: @Sendable (any DataCaching) -> Void
    ) {
        let chosen = chosen(policy, caches)
        if policy == .concurrent {
            DispatchQueue.concurrentPerform(iterations: chosen.count) { body(chosen[$0]) }
        } else {
            for cache in chosen { body(cache) }
        }
    }
}
