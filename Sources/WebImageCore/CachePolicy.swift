package import FoundationEssentials

extension ImageRequest {
    /// How a load uses the caches and the server, in the manner of Foundation's `URLRequest.CachePolicy`.
    public enum CachePolicy: Hashable, Sendable {
        /// Memory is used first, then a stored response as far as RFC 9111 allows, then the loader. The default.
        case standard
        /// A stored response is used at any age. The loader is asked only if there is none.
        case cachedElseLoad
        /// Only the caches are used, at any age. A miss fails with ``ImageError/Code/notInCache``.
        case cachedOnly
        /// The partial handler receives the cached image at once, and one conditional request asks the server whether it is
        /// current. The completion receives the outcome. If the server is unreachable, it receives the cached image, and
        /// ``LoadResponse/refreshError`` says why.
        case refresh
        /// The caches are not read. The loaded image replaces what they hold.
        case reload
    }
}

// The meaning of a policy, decision by decision. A new policy answers each of these questions.
extension ImageRequest.CachePolicy {
    /// Whether the caches may serve the load.
    var readsCaches: Bool {
        switch self {
        case .standard, .cachedElseLoad, .cachedOnly, .refresh: true
        case .reload: false
        }
    }

    /// Whether the loader is asked for images that are not cached.
    var asksLoader: Bool {
        switch self {
        case .standard, .cachedElseLoad, .refresh, .reload: true
        case .cachedOnly: false
        }
    }

    /// Whether a cached image is shown at once and does not end the load, because the server is asked about it.
    package var revalidatesCachedImage: Bool {
        switch self {
        case .refresh: true
        case .standard, .cachedElseLoad, .cachedOnly, .reload: false
        }
    }

    /// Whether the loader is asked even after an earlier failure.
    var ignoresFailures: Bool { revalidatesCachedImage || !readsCaches }

    /// Whether a stale image in memory is validated, as it is on disk.
    var validatesStaleImage: Bool {
        switch self {
        case .standard: true
        case .cachedElseLoad, .cachedOnly, .refresh, .reload: false
        }
    }

    /// Whether a local file is checked for changes since its rendition was made.
    var asksForChanges: Bool {
        switch self {
        case .standard, .refresh, .reload: true
        case .cachedElseLoad, .cachedOnly: false
        }
    }

    /// The policy that transfers are shared by. A load that reloads gets the same bytes as a standard load, if neither
    /// reads the caches.
    var forSharing: ImageRequest.CachePolicy {
        switch self {
        case .standard, .reload: .standard
        case .cachedElseLoad, .cachedOnly, .refresh: self
        }
    }

    /// How a response in the disk cache may be used (RFC 9111, 4).
    /// - Parameters:
    ///   - headers: The header fields that a request would send now.
    ///   - late: The fields that become known only when the request is sent. Default: none.
    package func use(
        of response: ResponseMetadata,
        headers: [String: String],
        lacking late: LateFields = .none,
        now: Date
    ) -> StoredResponseUse {
        switch response.isAnswer(to: headers, lacking: late) {
        case false?: return .ignore
        // A date does not distinguish versions from the same second.
        case nil: return asksLoader && response.etag != nil ? .confirm : .ignore
        case true?: break
        }
        let freshness = Freshness(response, now: now)
        switch self {
        case .cachedOnly, .cachedElseLoad:
            return .use
        case .refresh:
            // RFC 8246: an immutable response needs no revalidation.
            return freshness.isFresh && freshness.directives.isImmutable ? .use : .validate
        case .standard, .reload:
            if freshness.isFresh { return .use }
            return freshness.isUsableWhileRevalidating ? .useAndRefresh : .validate
        }
    }
}

/// How a response in the disk cache is used.
package enum StoredResponseUse: Equatable {
    /// The stored response is used without asking the server.
    case use
    /// The stale response is used now and revalidated for the next load.
    case useAndRefresh
    /// The response must be revalidated before it is used.
    case validate
    /// Only the server can say whether the response answers this request, so it is used only after the server has confirmed it.
    case confirm
    /// The response answers a different request (its Vary fields differ) and is not used.
    case ignore
}

/// The cache tiers that a load reads and writes.
public struct CacheAccess: Hashable, Sendable {
    /// The tiers that the load may be answered from. Default: all.
    public var reads: CacheTiers
    /// The tiers that store the results of the load. Default: all.
    public var writes: CacheTiers
    /// Whether the load completes only after its writes have reached the disk. Default: no.
    public var awaitsWrites: Bool

    /// Creates an access. Default: every tier is read and written, and the load does not wait for the disk.
    public init(reads: CacheTiers = .all, writes: CacheTiers = .all, awaitsWrites: Bool = false) {
        self.reads = reads
        self.writes = writes
        self.awaitsWrites = awaitsWrites
    }

    /// Reads all tiers and writes nothing to disk.
    public static let writingMemoryOnly = CacheAccess(writes: .memory)
    /// Reads and writes all tiers, and completes after the writes.
    public static let awaitingWrites = CacheAccess(awaitsWrites: true)
}

/// The places where a manager keeps images.
public struct CacheTiers: OptionSet, Hashable, Sendable {
    /// One bit for each tier, as OptionSet requires. Use the constants.
    public let rawValue: UInt8

    /// Creates a set from bits, as OptionSet requires. Use the constants.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Decoded images in memory.
    public static let memory = CacheTiers(rawValue: 1 << 0)
    /// Decoded images on disk, at the size and with the transformer of a request.
    public static let renditions = CacheTiers(rawValue: 1 << 1)
    /// The bytes of loaders on disk.
    public static let originals = CacheTiers(rawValue: 1 << 2)
    /// Both tiers on disk.
    public static let disk: CacheTiers = [.renditions, .originals]
    /// All tiers.
    public static let all: CacheTiers = [.memory, .renditions, .originals]
}

extension CacheTiers: CustomStringConvertible {
    private static let names: [(tier: CacheTiers, name: String)] = [
        (.memory, "memory"), (.renditions, "renditions"), (.originals, "originals"),
    ]

    /// The names of the tiers, such as `memory, originals`; `none` if the set is empty.
    public var description: String {
        let names = Self.names.filter { contains($0.tier) }.map(\.name)
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }
}
