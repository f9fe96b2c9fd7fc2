import WebImageCore

/// The bodies in memory that later transfers can resume. The oldest are dropped when they exceed a number of bytes.
struct ResumableBodies {
    private var bodies: [TransferKey: PartialBody] = [:]
    /// The keys, oldest first.
    private var order: [TransferKey] = []
    private var byteCount = 0

    /// Adds a body, unless it has no validator or exceeds the limit alone.
    /// - Parameter limit: The bytes that all bodies may have.
    mutating func put(_ body: PartialBody, for key: TransferKey, limit: Int) {
        _ = take(key)
        guard body.version.condition != nil, body.data.count <= limit else { return }
        bodies[key] = body
        order.append(key)
        byteCount += body.data.count
        while byteCount > limit, let oldest = order.first { _ = take(oldest) }
    }

    mutating func take(_ key: TransferKey) -> PartialBody? {
        guard let body = bodies.removeValue(forKey: key) else { return nil }
        order.removeAll { $0 == key }
        byteCount -= body.data.count
        return body
    }
}
