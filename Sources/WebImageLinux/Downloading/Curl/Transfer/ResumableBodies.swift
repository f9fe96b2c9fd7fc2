import WebImageCore

/// The bodies in memory that later transfers can resume. The oldest are dropped when they exceed a number of bytes.
struct ResumableBodies {
    private var bodies: [TransferKey: (body: PartialBody, number: UInt64)] = [:]
    /// The keys, oldest first. Those whose number is not that of a body any more are skipped.
    private var order: ArraySlice<(key: TransferKey, number: UInt64)> = []
    private var lastNumber: UInt64 = 0
    private var byteCount = 0

    /// What a body takes beside its bytes. A server that breaks off early must not fill the memory with the heads of responses.
    private static let overhead = 4096

    /// Adds a body, unless it has no validator or exceeds the limit alone.
    /// - Parameter limit: The bytes that all bodies may have.
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
