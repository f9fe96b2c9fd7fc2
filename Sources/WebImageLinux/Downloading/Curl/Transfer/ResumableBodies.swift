import WebImageCore

/// The bodies in memory that later transfers can resume. The oldest are dropped if all of them exceed a number of bytes.
struct ResumableBodies {
    private var bodies: [TransferKey: (body: PartialBody, number: UInt64)] = [:]
    /// The keys, oldest first. Keys whose number has changed are skipped.
    private var order: ArraySlice<(key: TransferKey, number: UInt64)> = []
    private var lastNumber: UInt64 = 0
    private var byteCount = 0

    /// The memory of a body besides its bytes. Servers that break off early must not fill the memory with response heads.
    private static let overhead = 4096

    /// Adds a body, unless it has no validator or alone exceeds the limit.
    /// - Parameter limit: The largest number of bytes of all bodies.
    mutating func put(_ body: PartialBody, for key: TransferKey, limit: Int) {
        _ = take(key)
        guard body.version.condition != nil, body.data.count <= limit else { return }
        lastNumber += 1
        bodies[key] = (body, lastNumber)
        order.append((key, lastNumber))
        byteCount += body.data.count + Self.overhead
        trim(to: limit.boundedSum(Self.overhead))
        if order.count > 2 * bodies.count + 64 { order.removeAll { bodies[$0.key]?.number != $0.number } }
    }

    mutating func take(_ key: TransferKey) -> PartialBody? {
        guard let (body, _) = bodies.removeValue(forKey: key) else { return nil }
        byteCount -= body.data.count + Self.overhead
        return body
    }

    /// Drops the oldest bodies until the others take at most a number of bytes.
    mutating func trim(to limit: Int) {
        while byteCount > limit, let (key, number) = order.popFirst() {
            if bodies[key]?.number == number { _ = take(key) }
        }
    }
}
