import WebImageCore

/// The waiting transfers, in one queue for each server, and the numbers of running transfers.
///
/// Servers share the room: the next transfer has the highest priority, then the server with the fewest running
/// transfers, and then it is the oldest or newest. A part of the room is reserved for servers with few running
/// transfers, so that slow servers do not occupy all of it. A step looks at few of the servers, however many wait.
struct TransferQueue {
    /// The place of a server in line, which depends on its next transfer.
    private struct Turn: Equatable {
        let priority: ImagePriority
        let runningCount: Int
        let transfer: TransferNumber
    }

    private struct Server {
        var waiting = PriorityQueue<CurlTransfer>()
        var runningCount = 0
        /// The turn, and its number in the queue of servers.
        var turn: (turn: Turn, place: UInt64)?
    }

    private var totalLimit = 1
    private var serverLimit = 1
    private var order = QueueOrder.oldestFirst
    private var servers: [Origin: Server] = [:]
    /// The servers that have a turn, by the number of their running transfers.
    private var turns: [PriorityQueue<Origin>] = []
    /// The number of running transfers below which a server gets the next place.
    private var favoredCount = 0
    private(set) var waitingCount = 0
    private(set) var runningCount = 0
    private var bucket: TokenBucket?
    /// When the rate limit allows the next transfer; `nil` if it does not delay any.
    private var nextToken: ContinuousClock.Instant?
    /// The budget that has no room for the body of the next transfer; `nil` if no transfer waits for room.
    private(set) var fullBudget: MemoryBudget?
    private var lookups: [String: LookupLimit] = [:]

    mutating func configure(_ configuration: ImageDownloader.Configuration) {
        totalLimit = max(1, configuration.maximumConcurrentTransfers)
        serverLimit = max(1, configuration.maximumTransfersPerHost)
        order = configuration.transferOrder == .lastInFirstOut ? .newestFirst : .oldestFirst
        for origin in Array(servers.keys) { update(origin) }
        if bucket?.limit != configuration.rateLimit {
            bucket = configuration.rateLimit.map { TokenBucket($0, now: .now) }
        }
    }

    /// Adds a transfer. One that had a turn before precedes others of its priority.
    mutating func push(_ transfer: CurlTransfer) {
        if let exchange = transfer.exchange { transfer.origin = exchange.request.origin }
        let number = servers[transfer.origin, default: Server()].waiting.push(
            transfer,
            transfer.priority,
            isResumed: transfer.exchange != nil,
            age: transfer.age
        )
        transfer.phase = .queued(number: number, since: .now)
        waitingCount += 1
        update(transfer.origin)
    }

    /// Moves a waiting transfer to its new priority.
    mutating func updatePriority(of transfer: CurlTransfer) {
        guard case .queued(let number, _) = transfer.phase else { return }
        servers[transfer.origin]?.waiting.move(number, to: transfer.priority)
        update(transfer.origin)
    }

    /// Starts the next transfer that may run.
    mutating func start() -> CurlTransfer? {
        while let origin = nextServer() {
            guard !pause(origin) else { continue }
            guard let transfer = servers[origin]?.waiting.first(order),
                case .queued(let number, let time) = transfer.phase
            else { return nil }
            // All other transfers wait behind a body without room, so that the order is kept.
            if let budget = transfer.budget, !budget.hasRoomForBody {
                fullBudget = budget
                return nil
            }
            nextToken = bucket?.take(now: .now).map { .now + $0 }
            guard nextToken == nil else { return nil }
            _ = servers[origin]?.waiting.remove(number)
            waitingCount -= 1
            favoredCount = 0
            (transfer.phase, transfer.hasToken) = (.running, bucket != nil)
            transfer.waitingTime += .now - time
            enter(origin)
            return transfer
        }
        return nil
    }

    /// Moves a running transfer to another server, such as the target of a redirect.
    /// - Returns: Whether the server has room. If not, the transfer keeps its place.
    mutating func move(_ transfer: CurlTransfer, to origin: Origin) -> Bool {
        // The servers of a host that waits get their turns together, from resume().
        guard lookups[origin.host]?.nextStart == nil, !pause(origin), runningCount(of: origin) < serverLimit else {
            return false
        }
        leave(transfer.origin)
        transfer.origin = origin
        enter(origin)
        return true
    }

    /// Removes a transfer that waits or runs.
    /// - Parameter usesToken: Whether the transfer uses up its token of the rate limit.
    mutating func remove(_ transfer: CurlTransfer, usesToken: Bool) {
        if transfer.hasToken, !usesToken {
            transfer.hasToken = false
            bucket?.giveBack()
        }
        switch transfer.phase {
        case .queued(let number, _):
            if servers[transfer.origin]?.waiting.remove(number) != nil { waitingCount -= 1 }
            update(transfer.origin)
        case .running: leave(transfer.origin)
        case .asking: break
        }
    }

    /// The priority and the number of running transfers of a server that waits for room although it has less than its
    /// share; `nil` if there is none.
    mutating func starvation() -> (rank: Int, runningCount: Int)? {
        guard runningCount >= totalLimit, waitingCount > 0 else { return nil }
        let share = max(1, totalLimit / max(1, servers.count))
        return bestCount(below: share).map { ($0.priority.rank, $0.runningCount) }
    }

    /// Gives the next place to a server that has no more running transfers than the one that the place was made for.
    mutating func favorServers(with runningCount: Int) { favoredCount = runningCount + 1 }

    func runningCount(of origin: Origin) -> Int { servers[origin]?.runningCount ?? 0 }

    private mutating func enter(_ origin: Origin) {
        servers[origin, default: Server()].runningCount += 1
        runningCount += 1
        lookups[origin.host]?.noteStart(now: .now)
        update(origin)
    }

    private mutating func leave(_ origin: Origin) {
        servers[origin]?.runningCount -= 1
        runningCount -= 1
        update(origin)
    }

    /// When the rate limit or the lookups of a host allow the next transfer to start; `nil` if they delay none.
    var nextStart: ContinuousClock.Instant? { (lookups.values.map(\.nextStart) + [nextToken]).compactMap { $0 }.min() }

    /// Forgets why no transfer could start, and lets the servers whose lookups may go on have their turns.
    mutating func resume() {
        (nextToken, fullBudget) = (nil, nil)
        for (host, limit) in lookups where limit.nextStart.map({ $0 <= .now }) ?? false {
            lookups[host]?.nextStart = nil
            updateServers(of: host)
        }
    }

    /// Whether lookups of any host were left behind, so that an answer may end a wait.
    var limitsLookups: Bool { !lookups.isEmpty }

    /// Records the end of a lookup. After an answer, the transfers of the host do not wait.
    mutating func noteLookup(of host: String, isAnswered: Bool) {
        guard isAnswered else { return lookups.noteLeftBehind(for: host, now: .now) }
        if lookups.removeValue(forKey: host)?.nextStart != nil { updateServers(of: host) }
    }

    /// Makes the servers of a host wait if the host may not be looked up.
    /// - Returns: Whether they wait.
    private mutating func pause(_ origin: Origin) -> Bool {
        guard lookups[origin.host]?.pause(now: .now) == true else { return false }
        updateServers(of: origin.host)
        return true
    }

    private mutating func updateServers(of host: String) {
        for origin in servers.keys.filter({ $0.host == host }) { update(origin) }
    }

    private mutating func nextServer() -> Origin? {
        guard runningCount < totalLimit, waitingCount > 0 else { return nil }
        // From this number on, a server may start another transfer only if it has fewer running than there are places left.
        let isShared = runningCount >= totalLimit - totalLimit / 4
        let limit = isShared ? max(totalLimit - runningCount, favoredCount) : Int.max
        return bestCount(below: limit).flatMap { turns[$0.runningCount].first(order) }
    }

    /// The number of running transfers of the next server, among servers below a limit.
    private mutating func bestCount(below limit: Int) -> (priority: ImagePriority, runningCount: Int)? {
        var best: (priority: ImagePriority, runningCount: Int)?
        for count in turns.indices.prefix(limit) {
            guard let priority = turns[count].highestPriority() else { continue }
            if best.map({ $0.priority.rank < priority.rank }) ?? true { best = (priority, count) }
        }
        return best
    }

    /// Updates the turn of a server to its next transfer.
    private mutating func update(_ origin: Origin) {
        // The server is not copied, because that would copy its queue.
        guard let runningCount = servers[origin]?.runningCount else { return }
        let isPaused = lookups[origin.host]?.nextStart != nil
        let next = runningCount < serverLimit && !isPaused ? servers[origin]?.waiting.first(order) : nil
        let turn = next.map { Turn(priority: $0.priority, runningCount: runningCount, transfer: $0.number) }
        if let (old, place) = servers[origin]?.turn {
            guard old != turn else { return }
            _ = turns[old.runningCount].remove(place)
            servers[origin]?.turn = nil
        }
        if let turn {
            while turns.count <= runningCount { turns.append(PriorityQueue()) }
            servers[origin]?.turn = (turn, turns[runningCount].push(origin, turn.priority, age: next?.age ?? 0))
        } else if runningCount == 0, servers[origin]?.waiting.count == 0 {
            servers[origin] = nil
        }
    }
}

/// The token bucket of a rate limit. A transfer takes a token when it starts; the bucket refills with time.
struct TokenBucket {
    let limit: ImageDownloader.RateLimit
    private var tokens: Double
    private var lastFill: ContinuousClock.Instant

    init(_ limit: ImageDownloader.RateLimit, now: ContinuousClock.Instant) {
        self.limit = limit
        (tokens, lastFill) = (Double(limit.burst), now)
    }

    /// Takes a token.
    /// - Returns: `nil` if there was a token, else the time until there will be one.
    mutating func take(now: ContinuousClock.Instant) -> Duration? {
        tokens = min(tokens + (now - lastFill) / .seconds(1) * limit.perSecond, Double(limit.burst))
        lastFill = now
        guard tokens < 1 else {
            tokens -= 1
            return nil
        }
        return .bounded(seconds: (1 - tokens) / limit.perSecond)
    }

    /// Returns the token of a transfer that was not cancelled.
    mutating func giveBack() {
        tokens = min(tokens + 1, Double(limit.burst))
    }
}
