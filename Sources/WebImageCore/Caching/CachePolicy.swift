/// Which caches a load asks, and which it writes to.
///
/// A result is an image at the size and with the transformer that were asked for; an original is what the loader gave.
/// Results are in memory, and on disk where that is worth it; originals are on disk.
public struct CachePolicy: Hashable, Sendable {
    /// Where results are looked for. Default: everywhere.
    public var query: CacheTiers
    /// Where results are kept. Default: everywhere.
    public var store: CacheTiers
    /// Whether originals are looked for. Default: yes.
    public var queriesOriginals: Bool
    /// Whether originals are kept. Default: yes.
    public var storesOriginals: Bool

    /// Makes a policy.
    public init(
        query: CacheTiers = .all,
        store: CacheTiers = .all,
        queriesOriginals: Bool = true,
        storesOriginals: Bool = true
    ) {
        self.query = query
        self.store = store
        self.queriesOriginals = queriesOriginals
        self.storesOriginals = storesOriginals
    }
}

extension ImageRequest {
    /// The policy with what the options take away.
    var effectiveCaching: CachePolicy {
        var policy = caching
        if options.contains(.fromLoaderOnly) {
            policy.query = []
            policy.queriesOriginals = false
        }
        if options.contains(.memoryCacheOnly) {
            policy.store.remove(.disk)
            policy.storesOriginals = false
        }
        return policy
    }
}

/// The places where decoded images are kept.
public struct CacheTiers: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Decoded, in memory.
    public static let memory = CacheTiers(rawValue: 1 << 0)
    /// On disk.
    public static let disk = CacheTiers(rawValue: 1 << 1)
    /// Everywhere.
    public static let all: CacheTiers = [.memory, .disk]
}
