import WebImageCore

/// Limits the lookups of a host name that transfers have left behind.
///
/// libcurl looks up a name on a separate thread, and getaddrinfo(3) cannot be interrupted. If a transfer is cancelled
/// or reaches its time limit, the thread stays until it has given up the name server, after half a minute or so. A list
/// that is scrolled over images of such a host would leave a thread for each. After the first few, a host gets only one
/// new lookup a second, until one is answered.
struct LookupLimit {
    /// The number of lookups of a host that may be left behind before pauses begin.
    static let freeCount = 8
    /// How long a lookup counts as left behind.
    static let window = Duration.seconds(30)
    /// The time between two lookups during a pause.
    static let interval = Duration.seconds(1)

    /// When lookups were left behind, oldest first.
    fileprivate var left: [ContinuousClock.Instant] = []
    private var lastStart: ContinuousClock.Instant?
    /// When the next transfer may start; `nil` if none is waiting.
    var nextStart: ContinuousClock.Instant?

    /// Records the start of a transfer.
    mutating func noteStart(now: ContinuousClock.Instant) { lastStart = now }

    /// Makes the transfers of the host wait if it may not be looked up.
    /// - Returns: Whether they wait.
    mutating func pause(now: ContinuousClock.Instant) -> Bool {
        left.removeAll { $0 + Self.window <= now }
        let next = left.count < Self.freeCount ? nil : lastStart.map { $0 + Self.interval }
        nextStart = next.flatMap { $0 > now ? $0 : nil }
        return nextStart != nil
    }
}

// The limits of hosts that have left lookups behind, by host name.
extension [String: LookupLimit] {
    /// Records that a transfer has ended without an address.
    mutating func noteLeftBehind(for host: String, now: ContinuousClock.Instant) {
        // Hosts that are not asked again must not pile up. Each removal follows a doubling, so that thousands of hosts cost
        // little.
        if self[host] == nil, count.nonzeroBitCount == 1 {
            self = filter { $0.value.nextStart != nil || $0.value.left.contains { $0 + LookupLimit.window > now } }
        }
        self[host, default: LookupLimit()].left.append(now)
    }
}
