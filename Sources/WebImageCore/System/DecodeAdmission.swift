/// Which decodes may take memory, and which wait for it: the plain value behind the lock of ``MemoryBudget``.
///
/// Higher priorities come first, and older decodes within a priority. A decode for which there is no room at the moment lets
/// others pass that need less, but only so many: then those behind it wait until it has its turn, which is as long as the
/// decodes that are under way take. Slow decodes, which may take seconds, share half of the memory, of which one that needs more
/// than that has to be the only one. They never make a decode hold back others, since that would keep all of them waiting for
/// seconds.
struct DecodeAdmission {
    struct Waiter: Sendable {
        let number: UInt64
        let byteCount: Int
        let isSlow: Bool
        var priority: ImagePriority
        /// How many later decodes have got memory before this one.
        var overtakenCount = 0
        /// Called with the memory, once.
        let body: @Sendable (MemoryBudget.Reservation) -> Void
    }

    /// How many decodes pass one that needs more than there is.
    private static let maximumOvertakenCount = 8
    /// How many waiting decodes that are not slow are looked at when memory comes free, so that thousands of them cost no time.
    private static let maximumScanCount = 64

    private let limit: Int
    private let slowLimit: Int
    private(set) var used = 0
    private var slowUsed = 0
    /// By priority, then by age.
    private(set) var waiters: [Waiter] = []

    init(limit: Int) {
        self.limit = limit
        slowLimit = limit / 2
    }

    /// Takes memory for a decode if nothing waits but slow ones, which hold nobody else back.
    mutating func take(_ byteCount: Int, isSlow: Bool) -> Bool {
        guard hasRoom(byteCount, isSlow) else { return false }
        guard waiters.isEmpty || !isSlow && waiters.allSatisfy({ $0.isSlow && !isDue($0) }) else { return false }
        add(byteCount, isSlow)
        for index in waiters.indices { waiters[index].overtakenCount += 1 }
        return true
    }

    /// Adds a decode behind those of its priority.
    mutating func wait(_ waiter: Waiter) {
        let index = waiters.firstIndex { $0.priority < waiter.priority } ?? waiters.endIndex
        waiters.insert(waiter, at: index)
    }

    mutating func remove(_ number: UInt64) -> Waiter? {
        waiters.firstIndex { $0.number == number }.map { waiters.remove(at: $0) }
    }

    /// Changes how much a decode has taken; a negative change gives memory back.
    mutating func add(_ change: Int, _ isSlow: Bool) {
        used += change
        if isSlow { slowUsed += change }
    }

    /// Takes memory for the decodes that may begin, and removes them from those that wait.
    mutating func admit() -> [Waiter] {
        var admitted: [Waiter] = []
        var (index, scanCount) = (0, 0)
        while index < waiters.count, scanCount < Self.maximumScanCount {
            let waiter = waiters[index]
            // However many slow ones wait, those behind them are looked at.
            if !waiter.isSlow { scanCount += 1 }
            guard hasRoom(waiter.byteCount, waiter.isSlow), !isHeldBack(waiter, behind: index) else {
                index += 1
                continue
            }
            add(waiter.byteCount, waiter.isSlow)
            for earlier in 0..<index { waiters[earlier].overtakenCount += 1 }
            admitted.append(waiters.remove(at: index))
        }
        return admitted
    }

    private func hasRoom(_ byteCount: Int, _ isSlow: Bool) -> Bool {
        guard byteCount <= limit - used else { return false }
        return !isSlow || slowUsed == 0 || byteCount <= slowLimit - slowUsed
    }

    /// Whether a decode before this one has been overtaken often enough, and gets its memory when others end soon.
    private func isHeldBack(_ waiter: Waiter, behind count: Int) -> Bool {
        waiters[..<count].contains { earlier in
            waiter.isSlow ? earlier.overtakenCount >= Self.maximumOvertakenCount : isDue(earlier)
        }
    }

    /// Whether a decode has been overtaken often enough, and waits for others only that end soon.
    private func isDue(_ waiter: Waiter) -> Bool {
        guard waiter.overtakenCount >= Self.maximumOvertakenCount else { return false }
        let waitsForSlow = waiter.isSlow && slowUsed > 0 || waiter.byteCount > limit - slowUsed
        return !waitsForSlow
    }
}
