import WebImageCore

/// The waiting transfers, in one queue for each host, and the numbers of running transfers.
///
/// Hosts share the room: the next transfer has the highest priority, then the host with the fewest running transfers,
/// and then it is the oldest or newest. A part of the room is reserved for hosts with few running transfers, so that
/// slow hosts do not occupy all of it. A step looks at few of the hosts, however many wait.
struct TransferQueue {
    /// The place of a host in line, which depends on its next transfer.
    private struct Turn {
        let priority: ImagePriority
        let runningCount: Int
        /// The transfer, by its number in the queue of the host.
        let transfer: UInt64
        /// The number in the queue of hosts.
        var place: UInt64 = 0

        func isSame(as other: Turn) -> Bool {
            (priority, runningCount, transfer) == (other.priority, other.runningCount, other.transfer)
        }
    }

    private struct Host {
        var waiting = PriorityQueue<CurlTransfer>()
        var runningCount = 0
        /// Whether its transfers may not start for now.
        var isHeld = false
        var turn: Turn?
    }

    struct Limits {
        let total: Int
        let perHost: Int
        let order: QueueOrder

        init(_ configuration: ImageDownloader.Configuration) {
            total = max(1, configuration.maximumConcurrentTransfers)
            perHost = max(1, configuration.maximumTransfersPerHost)
            order =
                switch configuration.transferOrder {
                case .firstInFirstOut: .oldestFirst
                case .lastInFirstOut: .newestFirst
                }
        }

        /// The number of running transfers from which a host may start another one only if it has fewer running than
        /// there are places left.
        var shared: Int { total - total / 4 }
    }

    private var limits: Limits
    private var hosts: [String: Host] = [:]
    /// The hosts that have a turn, by the number of their running transfers.
    private var turns: [PriorityQueue<String>] = []
    /// The number of running transfers below which a host gets the next place.
    private var favoredCount = 0
    private(set) var waitingCount = 0
    private(set) var runningCount = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    mutating func setLimits(_ limits: Limits) {
        self.limits = limits
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
        transfer.phase = .queued(number: number)
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

    /// Removes and returns the next transfer that may run, and counts it as running.
    mutating func pop() -> CurlTransfer? {
        guard let host = nextHost(), let transfer = hosts[host]?.waiting.pop(limits.order) else { return nil }
        transfer.phase = .running
        waitingCount -= 1
        favoredCount = 0
        enter(host)
        return transfer
    }

    /// The transfer that ``pop()`` would return.
    mutating func first() -> CurlTransfer? {
        nextHost().flatMap { hosts[$0]?.waiting.first(limits.order) }
    }

    /// The priority and the number of running transfers of a host that waits for room although it has less than its
    /// share; `nil` if there is none.
    mutating func starvation() -> (rank: Int, runningCount: Int)? {
        guard runningCount >= limits.total, waitingCount > 0 else { return nil }
        let share = max(1, limits.total / max(1, hosts.count))
        return bestCount(below: share).map { ($0.priority.rank, $0.runningCount) }
    }

    /// Gives the next place to a host that has no more running transfers than the host that the place was made for.
    mutating func favorHosts(with runningCount: Int) { favoredCount = runningCount + 1 }

    /// Whether one more transfer of a host may run, apart from the total limit.
    func hasRoom(_ host: String) -> Bool { runningCount(of: host) < limits.perHost }

    func runningCount(of host: String) -> Int { hosts[host]?.runningCount ?? 0 }

    mutating func enter(_ host: String) {
        hosts[host, default: Host()].runningCount += 1
        runningCount += 1
        update(host)
    }

    mutating func leave(_ host: String) {
        guard runningCount(of: host) > 0 else { return }
        hosts[host]?.runningCount -= 1
        runningCount -= 1
        update(host)
    }

    /// Makes the transfers of a host wait until ``release(_:)``.
    mutating func hold(_ host: String) {
        hosts[host, default: Host()].isHeld = true
        update(host)
    }

    mutating func release(_ host: String) {
        guard hosts[host] != nil else { return }
        hosts[host]?.isHeld = false
        update(host)
    }

    private mutating func nextHost() -> String? {
        guard runningCount < limits.total, waitingCount > 0 else { return nil }
        let limit = runningCount < limits.shared ? Int.max : max(limits.total - runningCount, favoredCount)
        return bestCount(below: limit).flatMap { turns[$0.runningCount].first(limits.order) }
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
        guard let runningCount = hosts[name]?.runningCount, let isHeld = hosts[name]?.isHeld else { return }
        let next = runningCount < limits.perHost && !isHeld ? hosts[name]?.waiting.first(limits.order) : nil
        let turn = next.map { Turn(priority: $0.priority, runningCount: runningCount, transfer: $0.queueNumber ?? 0) }
        if let old = hosts[name]?.turn {
            if let turn, turn.isSame(as: old) { return }
            _ = turns[old.runningCount].remove(old.place)
            hosts[name]?.turn = nil
        }
        if var turn {
            while turns.count <= runningCount { turns.append(PriorityQueue()) }
            turn.place = turns[runningCount].push(name, turn.priority, age: next?.age ?? 0)
            hosts[name]?.turn = turn
        } else if runningCount == 0, hosts[name]?.waiting.count == 0 {
            hosts[name] = nil
        }
    }
}
