/// The memory that is taken and the callers that wait for memory: the plain value behind the lock of ``MemoryBudget``.
///
/// Decodes wait by priority, and within a priority by age. A decode without room lets a limited number of smaller
/// decodes pass. Then the decodes behind it wait until it gets its memory, which takes as long as the running decodes.
/// Slow decodes, which may take seconds, share half of the memory; a slow decode that needs more must be the only one.
/// They never hold back quick decodes, which would otherwise wait for seconds.
struct MemoryAccounts {
    enum Use: Int, CaseIterable {
        case decode
        case slowDecode
        /// Decoders of arriving files and canvases of animations.
        case lasting
        case body
        /// A body in a mapped file, whose pages the kernel can drop.
        case bodyInFile
        case arrivingBody
        /// The file of an animation. It is kept as long as its images, once for each size.
        case animation

        /// The use whose waiters are checked when this use gives memory back.
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
        /// The number of later decodes that got memory before this one.
        fileprivate(set) var overtakenCount = 0
        /// Called once there is room. For a decode, its memory is already taken then.
        let body: @Sendable () -> Void
    }

    /// The number of decodes that may pass a decode that needs more memory than there is.
    private static let maximumOvertakenCount = 8
    /// The number of quick decodes that are checked when memory becomes free, so that thousands of waiters cost no time.
    private static let maximumScanCount = 64
    /// The largest useful number of bytes of bodies: it keeps decoders busy for longer than a transfer takes to start.
    private static let largestBodyLimit = 32 << 20

    let decodingLimit: Int
    let lastingLimit: Int
    let bodyLimit: Int
    /// The number of bodies that keeps decoders busy while a transfer starts. More would cost memory, and time of the
    /// decoders of the first screen.
    private let enoughBodies: Int
    /// The bytes and the number of their owners, by use.
    private var taken = Array(repeating: (byteCount: 0, count: 0), count: Use.allCases.count)
    private var waiters: [Waiter] = []
    var serial = Serial()

    init(limit: Int, decoderCount: Int) {
        let sixteenth = max(limit, 0) / 16
        decodingLimit = max(sixteenth * 10, 1)
        lastingLimit = max(sixteenth * 3, 1)
        bodyLimit = min(max(sixteenth * 3, 1), Self.largestBodyLimit)
        enoughBodies = 8 * min(max(decoderCount, 1), 8)
    }

    /// The bytes that a use has taken.
    subscript(use: Use) -> Int { taken[use.rawValue].byteCount }

    /// The bytes that all decodes have taken.
    var decoding: Int { self[.decode] + self[.slowDecode] }

    /// The bytes of bodies, including arriving ones.
    var bodies: Int { self[.body] + self[.arrivingBody] }

    func waiterCount(_ use: Use) -> Int { waiters.count { $0.use.waiting == use } }

    /// Changes the bytes of a use. A negative change gives memory back.
    mutating func add(_ byteCount: Int, count: Int = 0, to use: Use) {
        taken[use.rawValue].byteCount += byteCount
        taken[use.rawValue].count += count
    }

    /// Takes memory if there is room and no waiting decode holds this one back.
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

    /// Adds a waiter behind the others of its rank.
    mutating func wait(_ waiter: Waiter) {
        waiters.insert(waiter, at: waiters.firstIndex { $0.rank < waiter.rank } ?? waiters.endIndex)
    }

    mutating func remove(_ number: UInt64) -> Waiter? {
        waiters.firstIndex { $0.number == number }.map { waiters.remove(at: $0) }
    }

    /// Removes the waiters whose wait is over, and takes the memory of decodes.
    /// - Parameter use: The use that has more room. Other waiters stay, because they may take a lock that the caller holds.
    mutating func admit(_ use: Use) -> [Waiter] {
        var (index, scanCount, admitted) = (0, 0, [Waiter]())
        while index < waiters.count, scanCount < Self.maximumScanCount {
            let waiter = waiters[index]
            // Slow decodes do not count, so that the decodes behind them are always checked.
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

    /// Only whole bodies block others, because they are decoded in any case. Arriving bodies may depend on a slow
    /// server and must not hold up bodies that can be decoded.
    var hasRoomForBody: Bool {
        let (count, fileCount) = (taken[Use.body.rawValue].count, taken[Use.bodyInFile.rawValue].count)
        guard count + fileCount > 0 else { return true }
        guard fileCount < enoughBodies else { return false }
        // Enough bodies have a quarter of a megabyte each.
        return bodies < min(enoughBodies << 18, bodyLimit) || bodies < bodyLimit && count < enoughBodies
    }

    /// Whether an earlier decode was overtaken often enough and gets its memory as others end. A quick decode does not
    /// wait for it if slow decodes must end first.
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
