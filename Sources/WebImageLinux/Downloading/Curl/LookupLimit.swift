import WebImageCore

/// How the lookup of a transfer ends: with an answer, perhaps that the host does not exist, or without one.
enum LookupEnd {
    case answered, leftBehind
}

/// Limits the lookups of host names that transfers leave behind.
///
/// libcurl looks up a name on a separate thread, and getaddrinfo(3) cannot be interrupted. If a transfer is cancelled
/// or reaches its time limit, the thread stays until it has given up the name server, after half a minute or so. A list
/// that is scrolled over images of such a host would leave a thread for each. After the first few, a host gets only one
/// new lookup a second, until one is answered.
struct LookupLimit {
    private struct Host {
        /// When lookups were left behind.
        var left: [ContinuousClock.Instant] = []
        /// When the next transfer may start; `nil` if none is waiting.
        var nextStart: ContinuousClock.Instant?
        var lastStart: ContinuousClock.Instant?
    }

    /// The number of lookups of a host that may be left behind before pauses begin.
    static let freeCount = 8
    /// How long a lookup counts as left behind.
    static let window = Duration.seconds(30)
    /// The time between two lookups during a pause.
    static let interval = Duration.seconds(1)

    private var hosts: [String: Host] = [:]
    /// When outdated hosts were last removed.
    private var lastRemoval: ContinuousClock.Instant?

    /// The number of known hosts.
    var hostCount: Int { hosts.count }

    /// When the next host may be looked up.
    var nextStart: ContinuousClock.Instant? { hosts.values.compactMap(\.nextStart).min() }

    /// Records that a transfer has ended without an address.
    mutating func noteLeftBehind(for host: String, now: ContinuousClock.Instant) {
        // Hosts that are not asked again must not pile up. Removing them once a second avoids quadratic time for thousands.
        if lastRemoval.map({ $0 + Self.interval <= now }) ?? true {
            lastRemoval = now
            for (host, var known) in hosts where known.nextStart == nil {
                known.left.removeAll { $0 + Self.window <= now }
                hosts[host] = known.left.isEmpty ? nil : known
            }
        }
        hosts[host, default: Host()].left.append(now)
    }

    /// Records that a host has an address.
    /// - Returns: Whether its transfers were waiting.
    mutating func noteAnswer(for host: String) -> Bool { hosts.removeValue(forKey: host)?.nextStart != nil }

    /// Records the start of a transfer.
    mutating func noteStart(for host: String, now: ContinuousClock.Instant) { hosts[host]?.lastStart = now }

    /// Whether the transfers of a host wait.
    func isPaused(_ host: String) -> Bool { hosts[host]?.nextStart != nil }

    /// Makes the transfers of a host wait if it may not be looked up.
    /// - Returns: Whether they wait.
    mutating func pause(_ host: String, now: ContinuousClock.Instant) -> Bool {
        guard var known = hosts[host] else { return false }
        known.left.removeAll { $0 + Self.window <= now }
        let next = known.left.count < Self.freeCount ? nil : known.lastStart.map { $0 + Self.interval }
        known.nextStart = next.flatMap { $0 > now ? $0 : nil }
        hosts[host] = known
        return known.nextStart != nil
    }

    /// - Returns: The hosts whose transfers may start again.
    mutating func endPauses(now: ContinuousClock.Instant) -> [String] {
        let ended = hosts.filter { $0.value.nextStart.map { $0 <= now } ?? false }.map(\.key)
        for host in ended { hosts[host]?.nextStart = nil }
        return ended
    }
}
