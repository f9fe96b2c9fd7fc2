internal import HeapModule
import WebImageCore

/// The transfers that wait, those of each host in a queue of their own, and the numbers of those that run.
///
/// Hosts share the room: the next transfer is one of the highest priority, among these one of the host that has the
/// fewest running, and among these the oldest or newest. A part of the room is kept for hosts that have few running, so
/// that slow hosts do not occupy all of it. A step takes logarithmic time, however many transfers wait.
struct TransferQueue {
    /// The place of a host among all. A host has at most one that counts; earlier ones are skipped.
    private struct Turn: Comparable {
        let rank: Int
        let runningCount: Int
        /// The age of the transfer, or its negative: the larger one is first.
        let age: Int64
        let host: String

        static func < (one: Turn, other: Turn) -> Bool {
            (one.rank, -one.runningCount, one.age) < (other.rank, -other.runningCount, other.age)
        }
    }

    private struct Host {
        var waiting = PriorityQueue<CurlTransfer>()
        var runningCount = 0
        /// Whether none of its transfers starts for now.
        var isHeld = false
        var turn: Turn?
    }

    struct Limits {
        let total: Int
        let perHost: Int
        let order: PriorityQueue<CurlTransfer>.Order

        init(_ configuration: ImageDownloader.Configuration) {
            total = max(1, configuration.maximumConcurrentTransfers)
            perHost = max(1, configuration.maximumTransfersPerHost)
            order =
                switch configuration.transferOrder {
                case .firstInFirstOut: .oldestFirst
                case .lastInFirstOut: .newestFirst
                }
        }

        /// The number of running transfers from which only hosts that have fewer running than there are places left start
        /// one.
        var shared: Int { total - total / 4 }
    }

    private var limits: Limits
    private var hosts: [String: Host] = [:]
    /// The turns of the hosts by the number of their running transfers.
    private var turns: [Heap<Turn>] = []
    private var turnCount = 0
    /// The number of running transfers below which a host gets the next place.
    private var favoredCount = 0
    private(set) var waitingCount = 0
    private(set) var runningCount = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    mutating func setLimits(_ limits: Limits) {
        self.limits = limits
        rebuild()
    }

    /// - Parameter isResumed: Whether the transfer had its turn before, and goes before the others of its priority.
    mutating func push(_ transfer: CurlTransfer, isResumed: Bool = false) {
        let number = hosts[transfer.host, default: Host()].waiting.push(
            transfer,
            transfer.priority,
            isResumed: isResumed,
            age: transfer.age
        )
        transfer.queueNumber = number
        waitingCount += 1
        update(transfer.host)
    }

    /// Removes a transfer that waits.
    mutating func remove(_ transfer: CurlTransfer) {
        guard let number = transfer.queueNumber else { return }
        transfer.queueNumber = nil
        if hosts[transfer.host]?.waiting.remove(number) != nil { waitingCount -= 1 }
        update(transfer.host)
    }

    /// Moves a transfer that waits to its new priority.
    mutating func updatePriority(of transfer: CurlTransfer) {
        guard let number = transfer.queueNumber else { return }
        hosts[transfer.host]?.waiting.move(number, to: transfer.priority)
        update(transfer.host)
    }

    /// Removes and returns the next transfer that may run. It counts as running.
    mutating func pop() -> CurlTransfer? {
        guard let host = nextHost(), let transfer = hosts[host]?.waiting.pop(limits.order) else { return nil }
        transfer.queueNumber = nil
        waitingCount -= 1
        favoredCount = 0
        enter(host)
        return transfer
    }

    /// The transfer that ``pop()`` would return.
    mutating func first() -> CurlTransfer? {
        nextHost().flatMap { hosts[$0]?.waiting.first(limits.order) }
    }

    /// The priority and the number of running transfers of a host that waits only for room while it has less than its
    /// share of it; `nil` when there is none.
    mutating func starvation() -> (rank: Int, runningCount: Int)? {
        guard runningCount >= limits.total, waitingCount > 0 else { return nil }
        let share = max(1, limits.total / max(1, hosts.count))
        return best(below: share).map { ($0.rank, $0.runningCount) }
    }

    /// Gives the next place to a host that has no more running than the one for which the place was made.
    mutating func favorHosts(with runningCount: Int) { favoredCount = runningCount + 1 }

    /// Whether one more transfer of a host may run, apart from the limit of all.
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

    /// Lets the transfers of a host wait until ``release(_:)``.
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
        guard runningCount >= limits.shared else { return best(below: .max)?.host }
        return best(below: max(limits.total - runningCount, favoredCount))?.host
    }

    /// The best turn that still counts of the hosts that have fewer transfers running.
    private mutating func best(below limit: Int) -> Turn? {
        var best: Turn?
        for count in turns.indices.prefix(limit) {
            while let turn = turns[count].max {
                if hosts[turn.host]?.turn == turn {
                    best = best.map { max($0, turn) } ?? turn
                    break
                }
                _ = turns[count].popMax()
                turnCount -= 1
            }
        }
        return best
    }

    /// Gives a host the turn of the transfer that is its next.
    private mutating func update(_ name: String) {
        // The host is not copied, which would copy its queue too.
        guard let runningCount = hosts[name]?.runningCount, let isHeld = hosts[name]?.isHeld else { return }
        if runningCount == 0, hosts[name]?.waiting.count == 0 {
            hosts[name] = nil
            return
        }
        let next = runningCount < limits.perHost && !isHeld ? hosts[name]?.waiting.first(limits.order) : nil
        let turn = next.map { transfer in
            let age = Int64(clamping: transfer.age)
            return Turn(
                rank: transfer.priority.rank,
                runningCount: runningCount,
                age: limits.order == .newestFirst ? age : -age,
                host: name
            )
        }
        guard turn != hosts[name]?.turn else { return }
        hosts[name]?.turn = turn
        if let turn { insert(turn) }
    }

    private mutating func insert(_ turn: Turn) {
        while turns.count <= turn.runningCount { turns.append(Heap()) }
        turns[turn.runningCount].insert(turn)
        turnCount += 1
        // Turns that no longer count must not add up.
        if turnCount > 64 + 4 * hosts.count { rebuild() }
    }

    private mutating func rebuild() {
        turns = []
        turnCount = 0
        for name in Array(hosts.keys) {
            hosts[name]?.turn = nil
            update(name)
        }
    }
}
