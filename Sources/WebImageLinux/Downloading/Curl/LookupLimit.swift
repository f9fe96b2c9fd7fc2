import WebImageCore

/// Bounds the lookups of names that transfers leave behind.
///
/// libcurl looks a name up on a thread of its own, and getaddrinfo(3) cannot be interrupted: when a transfer is cancelled or
/// reaches its time limit, the thread stays until the name server has been given up, after half a minute or so. A list that is
/// scrolled over images of such a host would leave one for each. After the first few, a host gets only one new lookup a
/// second, until one is answered.
struct LookupLimit {
    private struct Host {
        /// When lookups were left behind.
        var left: [ContinuousClock.Instant] = []
        /// When the next transfer may start; `nil` when none waits.
        var nextStart: ContinuousClock.Instant?
        var lastStart: ContinuousClock.Instant?
    }

    /// The lookups of a host that may be left behind before there are pauses.
    static let freeCount = 8
    /// The time for which they count.
    static let window = Duration.seconds(30)
    /// The time between two lookups from then on.
    static let pause = Duration.seconds(1)

    private var hosts: [String: Host] = [:]
    /// When hosts were last looked through for those that are gone.
    private var lastRemoval: ContinuousClock.Instant?

    init() {}

    /// The number of hosts that are known.
    var hostCount: Int { hosts.count }

    /// When the next transfer that waits may start.
    var nextStart: ContinuousClock.Instant? { hosts.values.compactMap(\.nextStart).min() }

    /// Takes note that a transfer has ended without an address.
    mutating func noteLeftBehind(for host: String, now: ContinuousClock.Instant) {
        // Hosts that are gone for good do not pile up. Once a second is enough, or thousands of them would cost their square.
        if lastRemoval.map({ $0 + Self.pause <= now }) ?? true {
            lastRemoval = now
            for (host, var known) in hosts where known.nextStart == nil {
                known.left.removeAll { $0 + Self.window <= now }
                hosts[host] = known.left.isEmpty ? nil : known
            }
        }
        hosts[host, default: Host()].left.append(now)
    }

    /// Takes note that a host has an address.
    /// - Returns: The host, if transfers waited for that.
    mutating func noteAnswer(for host: String) -> [String] {
        guard !hosts.isEmpty, let known = hosts.removeValue(forKey: host) else { return [] }
        return known.nextStart == nil ? [] : [host]
    }

    /// Whether a transfer has to wait. If not, it counts as started.
    mutating func pauses(_ host: String, now: ContinuousClock.Instant) -> Bool {
        guard !hosts.isEmpty, var known = hosts[host] else { return false }
        defer { hosts[host] = known }
        known.left.removeAll { $0 + Self.window <= now }
        if known.left.count >= Self.freeCount, let last = known.lastStart, last + Self.pause > now {
            known.nextStart = last + Self.pause
            return true
        }
        known.lastStart = now
        known.nextStart = nil
        return false
    }

    /// - Returns: The hosts of which a transfer may start again.
    mutating func endPauses(now: ContinuousClock.Instant) -> [String] {
        guard !hosts.isEmpty else { return [] }
        let ended = hosts.filter { $0.value.nextStart.map { $0 <= now } ?? false }.map(\.key)
        for host in ended { hosts[host]?.nextStart = nil }
        return ended
    }
}
