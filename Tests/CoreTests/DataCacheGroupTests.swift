import Foundation
import Synchronization
import TestSupport
import Testing
import WebImageCore
import WebImageTesting

@Suite("A group of data caches")
struct DataCacheGroupTests {
    private let first = DictionaryCache()
    private let second = DictionaryCache()

    private func group(_ change: (inout DataCacheGroup.Policies) -> Void = { _ in }) -> DataCacheGroup {
        var policies = DataCacheGroup.Policies()
        change(&policies)
        return DataCacheGroup([first, second], policies: policies)
    }

    private func entry(_ key: String, _ byte: UInt8 = 1) -> CacheEntry {
        CacheEntry(key: key, data: Data([byte]), storedAt: .distantPast)
    }

    @Test("In serial order the entry of the second cache is copied into the first")
    func serial() {
        second.store(entry("a"))
        #expect(group().entry(for: "a") == entry("a"))
        #expect(first.entry(for: "a") == entry("a"))
        #expect(group().entry(for: "b") == nil)
    }

    @Test(
        "What is stored or removed while a slow cache is read is not undone",
        arguments: ["store", "remove", "removeAll"]
    )
    func slowReads(change: String) async {
        // Given a group whose last cache is being read
        let (slow, group) = (DictionaryCache(), DataCacheGroup([]))
        group.caches = [first, slow]
        slow.store(entry("a", 1))
        slow.gate.close()
        let read = EventLog<CacheEntry?>()
        Thread.detachNewThread { read.add(group.entry(for: "a")) }
        #expect(await eventually { slow.readCount == 1 })
        // When the entry changes
        switch change {
        case "store": group.store(entry("a", 2))
        case "remove": group.remove("a")
        default: group.removeAll()
        }
        slow.gate.open()
        #expect(await eventually { !read.all.isEmpty })
        // Then what was read is not copied
        #expect(read.all == [entry("a", 1)])
        #expect(first.entry(for: "a") == (change == "store" ? entry("a", 2) : nil))
    }

    @Test("A read that begins while an entry is stored does not undo it")
    func readsDuringStores() async {
        // Given a read that finds the old entry in the last cache, after it has missed the new one in the first
        let (slow, group, read) = (DictionaryCache(), DataCacheGroup([]), EventLog<CacheEntry?>())
        group.caches = [first, slow]
        slow.store(entry("a", 1))
        slow.gate.close()
        first.willStore.withLock {
            $0 = {
                Thread.detachNewThread { read.add(group.entry(for: "a")) }
                _ = EventLog<Int>.poll { slow.readCount == 1 }
            }
        }
        group.store(entry("a", 2))
        slow.gate.open()
        #expect(await eventually { !read.all.isEmpty })
        // Then it copies nothing
        #expect(read.all == [entry("a", 1)])
        #expect(first.entry(for: "a") == entry("a", 2))
    }

    @Test("In concurrent order the first answer wins")
    func concurrent() {
        first.store(entry("a", 1))
        second.store(entry("a", 2))
        second.store(entry("b", 3))
        let group = group { $0.query = .concurrent }
        for _ in 0..<100 { #expect(group.entry(for: "a") == entry("a", 1)) }
        #expect(group.entry(for: "b") == entry("b", 3))
        #expect(first.entry(for: "b") == nil)
    }

    @Test("A policy can restrict operations to the first or to the last cache")
    func ends() {
        second.store(entry("a"))
        #expect(group { $0.query = .firstOnly }.entry(for: "a") == nil)
        #expect(group { $0.query = .lastOnly }.entry(for: "a") != nil)
        group { $0.store = .lastOnly }.store(entry("b"))
        #expect(first.entry(for: "b") == nil && second.entry(for: "b") != nil)
        group().store(entry("c"))
        #expect(first.entry(for: "c") != nil && second.entry(for: "c") == nil)
        group { $0.store = .concurrent }.store(entry("d"))
        #expect(group().usage == CacheUsage(count: 5, byteCount: 5))
    }

    @Test("A lookup follows its own policy, not the one for removal")
    func contains() {
        second.store(entry("a"))
        let group = group {
            $0.contains = .firstOnly
            $0.removeAll = .serial
        }
        #expect(!group.contains("a"))
        #expect(self.group().contains("a"))
    }

    @Test(
        "Each policy reaches the caches that it names",
        arguments: [
            (DataCacheGroup.Policy.serial, true, true), (.concurrent, true, true), (.firstOnly, true, false),
            (.lastOnly, false, true),
        ]
    )
    func policies(policy: DataCacheGroup.Policy, hasFirst: Bool, hasLast: Bool) {
        for (key, cache) in [("first", first), ("last", second)] { cache.store(entry(key)) }
        let looking = group { $0.contains = policy }
        #expect(looking.contains("first") == hasFirst && looking.contains("last") == hasLast)
        let reading = group { $0.query = policy }
        #expect((reading.entry(for: "first") != nil) == hasFirst && (reading.entry(for: "last") != nil) == hasLast)
        group { $0.remove = policy }.remove("first")
        #expect(first.contains("first") == !hasFirst)
        let removing = group { $0.removeAll = policy }
        removing.removeAll()
        #expect((first.usage.count == 0) == hasFirst && (second.usage.count == 0) == hasLast)
    }

    @Test("Removal reaches all caches or those that the policies name")
    func removing() {
        for cache in [first, second] { for key in ["a", "b"] { cache.store(entry(key)) } }
        group().remove("a")
        #expect(!first.contains("a") && !second.contains("a"))
        group { $0.removeAll = .firstOnly }.removeAll()
        #expect(!first.contains("b") && second.contains("b"))
        group().removeAll()
        #expect(group().usage.count == 0)
    }

    @Test("A group without caches misses and still calls back")
    func empty() {
        for policy in [DataCacheGroup.Policy.serial, .concurrent, .firstOnly, .lastOnly] {
            var policies = DataCacheGroup.Policies()
            (policies.query, policies.store, policies.remove) = (policy, policy, policy)
            (policies.contains, policies.removeAll) = (policy, policy)
            let group = DataCacheGroup([], policies: policies)
            group.store(entry("a"))
            group.flush()
            group.remove("a")
            group.removeAll()
            #expect(group.entry(for: "a") == nil && !group.contains("a") && group.usage == CacheUsage(byteLimit: 0))
        }
    }

    @Test("Caches are added and removed at run time")
    func changes() {
        let group = DataCacheGroup([first])
        second.store(entry("a"))
        #expect(group.entry(for: "a") == nil)
        group.caches.append(second)
        #expect(group.entry(for: "a") != nil)
    }
}

/// An app's own cache, which keeps its entries in a dictionary.
private final class DictionaryCache: DataCaching {
    private let entries = Mutex<[String: CacheEntry]>([:])
    private let reads = EventLog<String>()
    /// Holds readers that have found what they read while it is closed.
    let gate = Gate()
    /// Called once before an entry is stored.
    let willStore = Mutex<(@Sendable () -> Void)?>(nil)

    var readCount: Int { reads.all.count }

    func entry(for key: String) -> CacheEntry? {
        let entry = entries.withLock { $0[key] }
        reads.add(key)
        gate.wait()
        return entry
    }
    func store(_ entry: CacheEntry) {
        willStore.withLock({ $0.take() })?()
        entries.withLock { $0[entry.key] = entry }
    }
    func remove(_ key: String) { entries.withLock { $0[key] = nil } }
    func removeAll() { entries.withLock { $0 = [:] } }

    var usage: CacheUsage {
        entries.withLock { entries in
            CacheUsage(count: entries.count, byteCount: entries.values.reduce(0) { $0 + $1.data.count })
        }
    }
}
