/// Who has memory, and who waits for some: the plain value behind the lock of ``MemoryBudget``.
///
/// Decodes wait by priority, and within a priority by age. A decode for which there is no room at the moment lets others pass
/// that need less, but only so many: then those behind it wait until it has its turn, which is as long as the decodes that are
/// under way take. Slow decodes, which may take seconds, share half of the memory, of which one that needs more than that has
/// to be the only one. They never make a decode hold back others, since that would keep all of them waiting for seconds.
struct MemoryAccounts {
    enum Use {
        case decode
        case slowDecode
        /// Decoders of arriving files and canvases of animations.
        case lasting
        case body
        /// A body in a file that is mapped, whose pages the kernel can drop.
        case bodyInFile
        case arrivingBody
        /// The file of an animation, which lasts as long as its images, once for each size.
        case animation

        /// The use whose waiters look again when this one gives memory back.
        fileprivate var waiting: Use {
            switch self {
            case .decode, .slowDecode: .decode
            case .body, .bodyInFile, .arrivingBody: .body
            case .lasting, .animation: self
            }
        }
    }

    struct Waiter: Sendable {
        let number: UInt64
        let use: Use
        let byteCount: Int
        /// The rank of a decode's priority. Waiters for other uses come before all decodes.
        var rank = Int.max
        /// How many later decodes have got memory before this one.
        fileprivate(set) var overtakenCount = 0
        /// Called once there is room. A decode has its memory by then.
        let body: @Sendable () -> Void
    }

    /// How many decodes pass one that needs more than there is.
    private static let maximumOvertakenCount = 8
    /// How many waiting decodes that are not slow are looked at when memory comes free, so that thousands of them cost no time.
    private static let maximumScanCount = 64
    /// The most bytes of bodies that are of use: decoders are busy with so many for longer than a transfer takes to begin.
    private static let largestBodyLimit = 32 << 20

    let decodingLimit: Int
    let lastingLimit: Int
    let bodyLimit: Int
    /// The number of bodies that is enough to keep decoders busy while a transfer begins. More would take time from the
    /// decoders of the first screen, and memory.
    private let enoughBodies: Int
    private var byteCounts: [Use: Int] = [:]
    private var counts: [Use: Int] = [:]
    private var waiters: [Waiter] = []
    var serial = Serial()

    init(limit: Int, decoderCount: Int) {
        let sixteenth = max(limit, 0) / 16
        decodingLimit = max(sixteenth * 10, 1)
        lastingLimit = max(sixteenth * 3, 1)
        bodyLimit = min(max(sixteenth * 3, 1), Self.largestBodyLimit)
        enoughBodies = 8 * min(max(decoderCount, 1), 8)
    }

    /// The bytes that a use has.
    subscript(use: Use) -> Int { byteCounts[use, default: 0] }

    /// The bytes that all decodes have.
    var decoding: Int { self[.decode] + self[.slowDecode] }

    /// The bytes of bodies, arriving ones included.
    var bodies: Int { self[.body] + self[.arrivingBody] }

    func waiterCount(_ use: Use) -> Int { waiters.count { $0.use.waiting == use } }

    /// Changes how much a use has; a negative change gives memory back.
    mutating func add(_ byteCount: Int, count: Int = 0, to use: Use) {
        byteCounts[use, default: 0] += byteCount
        counts[use, default: 0] += count
    }

    /// Takes memory if there is room and no decode that waits holds this one back.
    mutating func take(_ byteCount: Int, for use: Use) -> Bool {
        guard hasRoom(byteCount, for: use), !isHeldBack(use, behind: waiters.endIndex) else { return false }
        take(byteCount, for: use, before: waiters.endIndex)
        return true
    }

    private mutating func take(_ byteCount: Int, for use: Use, before index: Int) {
        add(byteCount, count: 1, to: use)
        guard use.waiting == .decode else { return }
        for earlier in 0..<index where waiters[earlier].use.waiting == .decode { waiters[earlier].overtakenCount += 1 }
    }

    /// Adds a waiter behind those of its rank.
    mutating func wait(_ waiter: Waiter) {
        waiters.insert(waiter, at: waiters.firstIndex { $0.rank < waiter.rank } ?? waiters.endIndex)
    }

    mutating func remove(_ number: UInt64) -> Waiter? {
        waiters.firstIndex { $0.number == number }.map { waiters.remove(at: $0) }
    }

    /// Removes those from the waiters that wait no longer, and takes the memory of decodes.
    /// - Parameter use: The use of which there is more room. Waiters for others stay: they may take a lock that the caller has.
    mutating func admit(_ use: Use) -> [Waiter] {
        var (index, scanCount, admitted) = (0, 0, [Waiter]())
        while index < waiters.count, scanCount < Self.maximumScanCount {
            let waiter = waiters[index]
            // However many slow ones wait, those behind them are looked at.
            if waiter.use == .decode { scanCount += 1 }
            guard waiter.use.waiting == use.waiting, hasRoom(waiter.byteCount, for: waiter.use),
                !isHeldBack(waiter.use, behind: index)
            else {
                index += 1
                continue
            }
            if use.waiting == .decode { take(waiter.byteCount, for: waiter.use, before: index) }
            admitted.append(waiters.remove(at: index))
        }
        return admitted
    }

    private func hasRoom(_ byteCount: Int, for use: Use) -> Bool {
        switch use {
        case .decode: byteCount <= decodingLimit - decoding
        case .slowDecode: hasRoom(byteCount, for: .decode) && hasRoomForSlow(byteCount)
        case .lasting: byteCount <= lastingLimit - self[.lasting]
        case .body, .bodyInFile: hasRoomForBody
        case .arrivingBody, .animation: true
        }
    }

    private func hasRoomForSlow(_ byteCount: Int) -> Bool {
        self[.slowDecode] == 0 || byteCount <= decodingLimit / 2 - self[.slowDecode]
    }

    /// Only whole bodies are waited for, since they are decoded by and by whatever else happens. Those that arrive may depend on
    /// a server that takes its time, and must not hold what others can serve.
    var hasRoomForBody: Bool {
        let (count, fileCount) = (counts[.body, default: 0], counts[.bodyInFile, default: 0])
        guard count + fileCount > 0 else { return true }
        guard fileCount < enoughBodies else { return false }
        // Enough bodies have a quarter of a megabyte each.
        return bodies < min(enoughBodies << 18, bodyLimit) || bodies < bodyLimit && count < enoughBodies
    }

    /// Whether a decode before this one has been overtaken often enough, and gets its memory when others end. One that is not
    /// slow does not wait for it where slow ones have to end.
    private func isHeldBack(_ use: Use, behind count: Int) -> Bool {
        guard use.waiting == .decode else { return false }
        return waiters[..<count].contains { earlier in
            guard earlier.overtakenCount >= Self.maximumOvertakenCount else { return false }
            let slow = self[.slowDecode]
            let waitsForSlow = earlier.use == .slowDecode && slow > 0 || earlier.byteCount > decodingLimit - slow
            return use == .slowDecode || !waitsForSlow
        }
    }
}
