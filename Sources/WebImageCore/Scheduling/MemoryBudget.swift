import Synchronization

/// The memory that all running loads together may take: pixels and coefficients of decodes, long-lived decoders and
/// canvases, and bodies that are not decoded yet. Finished images belong to the memory cache.
///
/// Each of the three has a share. Decodes end by themselves, so another decode can wait for them. Long-lived memory is
/// kept as long as its image is shown, so a request is refused if there is no room. A decode takes its memory once,
/// before it begins, and waits for nothing while it holds it. It occupies no thread while it waits.
package final class MemoryBudget: Sendable {
    /// Memory that is given back when this object is released.
    package final class Reservation: Sendable {
        private let budget: MemoryBudget
        private let use: MemoryAccounts.Use
        private let count: Mutex<Int>

        init(_ byteCount: Int, for use: MemoryAccounts.Use, _ budget: MemoryBudget) {
            (self.use, self.budget) = (use, budget)
            count = Mutex(byteCount)
        }

        deinit {
            budget.add(-byteCount, count: -1, to: use)
        }

        /// The bytes that are taken. They grow for a body that arrives.
        package var byteCount: Int {
            get { count.withLock { $0 } }
            set { change { _ in newValue } }
        }

        /// Gives back the bytes above a number.
        package func shrink(to count: Int) { change { min($0, count) } }

        private func change(_ change: (Int) -> Int) {
            let (old, new) = count.withLock { count in
                let new = max(change(count), 0)
                return (exchange(&count, with: new), new)
            }
            if new != old { budget.add(new - old, to: use) }
        }
    }

    /// The largest number of bytes that decodes may take at a time.
    package let decodingLimit: Int
    /// The largest number of bytes that decoders of arriving files and canvases of animations may take.
    let lastingLimit: Int
    /// The bytes of bodies at which no further bodies are read or requested while there are whole bodies to decode.
    let bodyLimit: Int
    let accounts: Mutex<MemoryAccounts>

    /// The largest limit of a process for all of its loads, and for decodes.
    package static let largestLimit = 1 << 30
    static let largestDecodingLimit = largestLimit / 16 * 10

    /// - Parameters:
    ///   - limit: The number of bytes of all uses together.
    ///   - decoderCount: The number of concurrent decodes, which determines how many bodies are read ahead.
    package init(limit: Int, decoderCount: Int = 4) {
        let accounts = MemoryAccounts(limit: limit, decoderCount: decoderCount)
        (decodingLimit, lastingLimit, bodyLimit) = (accounts.decodingLimit, accounts.lastingLimit, accounts.bodyLimit)
        self.accounts = Mutex(accounts)
    }

    /// The bytes in use, except those of arriving bodies.
    package var used: (decoding: Int, lasting: Int, bodies: Int) {
        accounts.withLock { ($0.decoding, $0[.lasting], $0[.body]) }
    }

    /// The bytes of arriving bodies.
    var arrivingByteCount: Int { accounts.withLock { $0[.arrivingBody] } }

    /// The bytes of the files of animations.
    var animationByteCount: Int { accounts.withLock { $0[.animation] } }

    /// The number of waiting decodes.
    package var waitingCount: Int { accounts.withLock { $0.waiterCount(.decode) } }

    /// The number of closures that wait for long-lived memory.
    var lastingWaiterCount: Int { accounts.withLock { $0.waiterCount(.lasting) } }

    /// Changes the accounts, and then calls the waiters whose wait is over, while the lock is free.
    func change(_ body: (inout MemoryAccounts) -> [MemoryAccounts.Waiter]) {
        for waiter in accounts.withLock({ body(&$0) }) { waiter.body() }
    }

    private func add(_ byteCount: Int, count: Int = 0, to use: MemoryAccounts.Use) {
        change { accounts in
            accounts.add(byteCount, count: count, to: use)
            return byteCount < 0 || count < 0 ? accounts.admit(use) : []
        }
    }

    private func take(_ byteCount: Int, for use: MemoryAccounts.Use) -> Reservation? {
        let isTaken = accounts.withLock { $0.take(byteCount, for: use) }
        return isTaken ? Reservation(byteCount, for: use, self) : nil
    }

    /// Counts memory that is already in use, so this never fails.
    private func hold(_ byteCount: Int, for use: MemoryAccounts.Use) -> Reservation {
        add(max(byteCount, 0), count: 1, to: use)
        return Reservation(max(byteCount, 0), for: use, self)
    }

    /// Takes memory for a decode, unless the decode must wait.
    /// - Parameters:
    ///   - byteCount: The number of bytes, at most ``decodingLimit``.
    ///   - isSlow: Whether the decode may take seconds.
    func takeForDecoding(_ byteCount: Int, isSlow: Bool = false) -> Reservation? {
        take(bounded(byteCount), for: isSlow ? .slowDecode : .decode)
    }

    func bounded(_ byteCount: Int) -> Int { min(max(byteCount, 0), decodingLimit) }

    /// Takes memory that may be kept for long.
    /// - Returns: `nil` if there is not enough memory.
    package func keep(_ byteCount: Int) -> Reservation? { take(max(byteCount, 0), for: .lasting) }

    /// Starts to count a body that is arriving.
    package func arrivingBody(_ byteCount: Int = 0) -> Reservation { hold(byteCount, for: .arrivingBody) }

    /// Counts a body until its image is decoded.
    /// - Parameter isInFile: Whether the bytes are in a mapped file, which takes no memory.
    func holdBody(_ byteCount: Int, isInFile: Bool = false) -> Reservation {
        isInFile ? hold(0, for: .bodyInFile) : hold(byteCount, for: .body)
    }

    /// Counts the file of an animation as long as its frames may be decoded.
    package func holdAnimation(_ byteCount: Int) -> Reservation { hold(byteCount, for: .animation) }

    /// Whether another body may be read.
    package var hasRoomForBody: Bool { accounts.withLock { $0.hasRoomForBody } }

    /// Whether arriving bodies should not be copied any further, for example for partial images.
    var isFullOfBodies: Bool { accounts.withLock { $0.bodies >= bodyLimit } }

    /// Whether arriving bodies should be kept in files rather than in memory. The files of animations count as well,
    /// although they are not waited for: they may be kept as long as the app runs.
    package var keepsBodiesInFiles: Bool { accounts.withLock { $0.bodies + $0[.animation] >= bodyLimit } }
}
