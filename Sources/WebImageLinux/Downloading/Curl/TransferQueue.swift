import WebImageCore

/// The waiting transfers, in one queue for each host, and the numbers of running transfers.
///
/// Hosts share the room: the next transfer has the highest priority, then the host with the fewest running transfers,
/// and then it is the oldest or newest. A part of the room is reserved for hosts with few running transfers, so that
/// slow hosts do not occupy all of it. A step looks at few of the hosts, however many wait.
struct TransferQueue {
    /// The place of a host in line, which depends on its next transfer.
    private struct Turn: Equatable {
        let priority: ImagePriority
        let runningCount: Int
        /// The transfer, by its number in the queue of the host.
        let transfer: UInt64
    }

    private struct Host {
        var waiting = PriorityQueue<CurlTransfer>()
        var runningCount = 0
        /// The turn, and its number in the queue of hosts.
        var turn: (turn: Turn, place: UInt64)?
    }

    private var totalLimit = 1
    private var hostLimit = 1
    private var order = QueueOrder.oldestFirst
    private var hosts: [String: Host] = [:]
    /// The hosts that have a turn, by the number of their running transfers.
    private var turns: [PriorityQueue<String>] = []
    /// The number of running transfers below which a host gets the next place.
    private var favoredCount = 0
    private(set) var waitingCount = 0
    private(set) var runningCount = 0
    private var lookups = LookupLimit()

    mutating func configure(_ configuration: ImageDownloader.Configuration) {
        totalLimit = max(1, configuration.maximumConcurrentTransfers)
        hostLimit = max(1, configuration.maximumTransfersPerHost)
        order = configuration.transferOrder == .lastInFirstOut ? .newestFirst : .oldestFirst
        for name in Array(hosts.keys) { update(name) }
    }

    /// - Parameter isResumed: Whether the transfer had a turn before and precedes others of its priority.
    mutating func push(_ transfer: CurlTransfer, isResumed: Bool = false) {
        let number = hosts[transfer.host, default: Host()].waiting.push(
            transfer,
            transfer.priority,
            isResumed: isResumed,
            age: transfer.age
        )
        transfer.phase = .queued(number: number, since: .now)
        waitingCount += 1
        update(transfer.host)
    }

    /// Removes a waiting transfer.
    mutating func remove(_ transfer: CurlTransfer) {
        guard let number = transfer.queueNumber else { return }
        if hosts[transfer.host]?.waiting.remove(number) != nil { waitingCount -= 1 }
        update(transfer.host)
    }

    /// Moves a waiting transfer to its new priority.
    mutating func updatePriority(of transfer: CurlTransfer) {
        guard let number = transfer.queueNumber else { return }
        hosts[transfer.host]?.waiting.move(number, to: transfer.priority)
        update(transfer.host)
    }

    /// The next transfer that may run.
    mutating func next() -> CurlTransfer? {
        while let host = nextHost() {
            guard lookups.pause(host, now: .now) else { return hosts[host]?.waiting.first(order) }
            update(host)
        }
        return nil
    }

    /// Counts the transfer that ``next()`` has returned as running.
    mutating func start(_ transfer: CurlTransfer) {
        guard case .queued(let number, let time) = transfer.phase else { return }
        _ = hosts[transfer.host]?.waiting.remove(number)
        transfer.phase = .running
        transfer.waitingTime += .now - time
        waitingCount -= 1
        favoredCount = 0
        enter(transfer.host)
    }

    /// Moves a running transfer to another host, such as the target of a redirect.
    /// - Returns: Whether the host has room. If not, the transfer keeps its place.
    mutating func move(_ transfer: CurlTransfer, to host: String) -> Bool {
        guard !lookups.pause(host, now: .now), runningCount(of: host) < hostLimit else {
            update(host)
            return false
        }
        leave(transfer.host)
        transfer.host = host
        enter(host)
        return true
    }

    /// The priority and the number of running transfers of a host that waits for room although it has less than its
    /// share; `nil` if there is none.
    mutating func starvation() -> (rank: Int, runningCount: Int)? {
        guard runningCount >= totalLimit, waitingCount > 0 else { return nil }
        let share = max(1, totalLimit / max(1, hosts.count))
        return bestCount(below: share).map { ($0.priority.rank, $0.runningCount) }
    }

    /// Gives the next place to a host that has no more running transfers than the host that the place was made for.
    mutating func favorHosts(with runningCount: Int) { favoredCount = runningCount + 1 }

    func runningCount(of host: String) -> Int { hosts[host]?.runningCount ?? 0 }

    private mutating func enter(_ host: String) {
        hosts[host, default: Host()].runningCount += 1
        runningCount += 1
        lookups.noteStart(for: host, now: .now)
        update(host)
    }

    /// - Parameter lookup: The end of the lookup of a transfer that leaves its host.
    mutating func leave(_ host: String, _ lookup: LookupEnd? = nil) {
        if let lookup { note(lookup, of: host) }
        guard runningCount(of: host) > 0 else { return }
        hosts[host]?.runningCount -= 1
        runningCount -= 1
        update(host)
    }

    /// When the next host that waits because of its lookups may be looked up.
    var nextLookup: ContinuousClock.Instant? { lookups.nextStart }

    /// Lets the hosts whose lookups may go on have their turns.
    mutating func resumeLookups() {
        for host in lookups.endPauses(now: .now) { update(host) }
    }

    /// Records the end of a lookup. After an answer, the transfers of the host do not wait.
    mutating func note(_ lookup: LookupEnd, of host: String) {
        guard lookup == .answered else { return lookups.noteLeftBehind(for: host, now: .now) }
        if lookups.noteAnswer(for: host) { update(host) }
    }

    private mutating func nextHost() -> String? {
        guard runningCount < totalLimit, waitingCount > 0 else { return nil }
        // From this number on, a host may start another transfer only if it has fewer running than there are places left.
        let isShared = runningCount >= totalLimit - totalLimit / 4
        let limit = isShared ? max(totalLimit - runningCount, favoredCount) : Int.max
        return bestCount(below: limit).flatMap { turns[$0.runningCount].first(order) }
    }

    /// The number of running transfers of the next host, among hosts below a limit.
    private mutating func bestCount(below limit: Int) -> (priority: ImagePriority, runningCount: Int)? {
        var best: (priority: ImagePriority, runningCount: Int)?
        for count in turns.indices.prefix(limit) {
            guard let priority = turns[count].highestPriority() else { continue }
            if best.map({ $0.priority.rank < priority.rank }) ?? true { best = (priority, count) }
        }
        return best
    }

    /// Updates the turn of a host to its next transfer.
    private mutating func update(_ name: String) {
        // The host is not copied, because that would copy its queue.
        guard let runningCount = hosts[name]?.runningCount else { return }
        let next = runningCount < hostLimit && !lookups.isPaused(name) ? hosts[name]?.waiting.first(order) : nil
        let turn = next.map { Turn(priority: $0.priority, runningCount: runningCount, transfer: $0.queueNumber ?? 0) }
        if let (old, place) = hosts[name]?.turn {
            guard old != turn else { return }
            _ = turns[old.runningCount].remove(place)
            hosts[name]?.turn = nil
        }
        if let turn {
            while turns.count <= runningCount { turns.append(PriorityQueue()) }
            hosts[name]?.turn = (turn, turns[runningCount].push(name, turn.priority, age: next?.age ?? 0))
        } else if runningCount == 0, hosts[name]?.waiting.count == 0 {
            hosts[name] = nil
        }
    }
}
