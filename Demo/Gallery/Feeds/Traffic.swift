import Synchronization

/// Counts the bytes that the gallery's server sends, by the User-Agent that asks for them. Of a response that is cancelled, the
/// bytes sent until then count.
final class Traffic: Sendable {
    private let byteCounts = Mutex<[String: Int]>([:])

    func add(_ byteCount: Int, for agent: String) {
        byteCounts.withLock { $0[agent, default: 0] += byteCount }
    }

    func byteCount(for agent: String) -> Int {
        byteCounts.withLock { $0[agent] ?? 0 }
    }
}
