import Dispatch
import Synchronization

/// Several caches that act as one, such as an app's own cache in front of one that it shares with other apps.
public final class DataCacheGroup: DataCaching {
    /// The caches that an operation applies to, and their order.
    public enum Policy: Sendable, Hashable {
        /// Every cache in order. A query ends with the first cache that has an answer.
        case serial
        /// Every cache at the same time. Of several answers, the one of the earliest cache counts.
        case concurrent
        /// Only the first cache.
        case firstOnly
        /// Only the last cache.
        case lastOnly
    }

    /// The policies of a group.
    public struct Policies: Sendable, Hashable {
        /// The policy for reading entries. A serial query copies what it finds into the caches before. Default: serial.
        public var query = Policy.serial
        /// The policy for storing entries. Default: the first cache only.
        public var store = Policy.firstOnly
        /// The policy for removing entries. Default: concurrent.
        public var remove = Policy.concurrent
        /// The policy for asking whether there is an entry. Default: serial.
        public var contains = Policy.serial
        /// The policy for removing all entries or those that have expired. Default: concurrent.
        public var removeAll = Policy.concurrent

        /// Creates the default policies: reads go through the caches in order, writes go to the first cache, removals
        /// to all.
        public init() {}
    }

    private struct State {
        var caches: [any DataCaching]
        var policies: Policies
    }

    private let state: Mutex<State>
    /// What has become of the entries that are read.
    private let versions = ImageVersions()
    private let order = StoreOrder()

    /// Makes a group. A group without caches always misses.
    /// - Parameters:
    ///   - caches: The caches, in order.
    ///   - policies: Which of them each operation applies to.
    public init(_ caches: [any DataCaching], policies: Policies = Policies()) {
        state = Mutex(State(caches: caches, policies: policies))
    }

    /// The caches, in order. Can be changed at any time, on any thread.
    public var caches: [any DataCaching] {
        get { state.withLock { $0.caches } }
        set { withExtendedLifetime(state.withLock { exchange(&$0.caches, with: newValue) }) {} }
    }

    /// Which caches each operation applies to. Can be changed at any time, on any thread.
    public var policies: Policies {
        get { state.withLock { $0.policies } }
        set { state.withLock { $0.policies = newValue } }
    }

    /// Reads an entry from the caches of ``Policies/query``, the first of which wins.
    public func entry(for key: String) -> CacheEntry? {
        let (caches, policy, mark) = (caches, policies.query, versions.mark())
        guard let (index, entry) = Self.first(policy, in: caches, { $0.entry(for: key) }) else { return nil }
        guard policy == .serial, index > 0 else { return entry }
        order.perform(key) { [versions] in
            // What was stored or removed while a slow cache was read counts.
            guard versions.isCurrent(mark, of: key) else { return }
            for cache in caches[..<index] { cache.store(entry) }
        }
        return entry
    }

    /// Reads an entry without its data by the query policy, and copies nothing into other caches.
    public func metadata(for key: String) -> CacheEntry? {
        Self.first(policies.query, in: caches) { $0.metadata(for: key) }?.answer
    }

    /// Whether one of the caches of ``Policies/contains`` has an entry.
    public func contains(_ key: String) -> Bool {
        Self.first(policies.contains, in: caches) { $0.contains(key) ? true : nil } != nil
    }

    /// Stores an entry in the caches of ``Policies/store``.
    public func store(_ entry: CacheEntry) {
        // store(_:) does not block, so there is nothing to gain from several threads.
        let chosen = Self.chosen(policies.store, caches)
        versions.change(entry.key)
        order.perform(entry.key) { [versions] in
            for cache in chosen { cache.store(entry) }
            // Whoever has read in the meantime may have the entry of before.
            versions.change(entry.key)
        }
    }

    /// Flushes every cache: each may have accepted an entry.
    public func flush() {
        for cache in caches { cache.flush() }
    }

    /// Waits until every cache has written the entry of a key.
    public func waitUntilWritten(_ key: String) {
        for cache in caches { cache.waitUntilWritten(key) }
    }

    /// Removes an entry from the caches of ``Policies/remove``.
    public func remove(_ key: String) {
        let (caches, policy) = (caches, policies.remove)
        versions.change(key)
        order.perform(key) { [versions] in
            Self.each(policy, in: caches) { $0.remove(key) }
            // Whoever has read the entry in the meantime has it from before.
            versions.change(key)
        }
    }

    /// Removes expired entries from the caches of ``Policies/removeAll``.
    public func removeExpired() {
        Self.each(policies.removeAll, in: caches) { $0.removeExpired() }
    }

    /// Removes all entries from the caches of ``Policies/removeAll``.
    public func removeAll() {
        let (caches, policy) = (caches, policies.removeAll)
        versions.changeAll()
        order.performForAll {
            Self.each(policy, in: caches) { $0.removeAll() }
            versions.changeAll()
        } remove: { key in
            Self.each(policy, in: caches) { $0.remove(key) }
        }
    }

    /// The usage of all caches together.
    public var usage: CacheUsage { caches.reduce(.none) { $0 + $1.usage } }

    /// The files of all caches together, the newest first. Of a file that several caches have, the newest is listed.
    public func files(limit: Int) -> [CachedFile] {
        var seen: Set<CachedFile.ID> = []
        let files = caches.flatMap { $0.files(limit: limit) }.sorted { $0.storedAt > $1.storedAt }
        return Array(files.filter { seen.insert($0.id).inserted }.prefix(max(limit, 0)))
    }

    /// The failures of all caches together.
    public var failureCount: Int { caches.reduce(0) { $0 + $1.failureCount } }
}

extension DataCacheGroup {
    private static func chosen(_ policy: Policy, _ caches: [any DataCaching]) -> [any DataCaching] {
        switch policy {
        case .serial, .concurrent: caches
        case .firstOnly: Array(caches.prefix(1))
        case .lastOnly: Array(caches.suffix(1))
        }
    }

    private static func first<Answer: Sendable>(
        _ policy: Policy,
        in caches: [any DataCaching],
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
        in caches: [any DataCaching],
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
