import FoundationEssentials
import Glibc
import Synchronization

/// Measures how fast bodies have arrived lately over the network: all bytes, divided by the time in which any have arrived, so that
/// transfers at the same time add up. What is half a minute older counts half as much.
final class SpeedMeter: Sendable {
    private struct Transfer {
        /// Seconds since 1970.
        let start: Double
        let end: Double
        let byteCount: Double
    }

    private struct State {
        var transfers: [Transfer] = []
        /// The speed of these transfers; `nil` until somebody asks.
        var speed: Double?
        var isMetered = false
        var isAvailable = true
    }

    /// A smaller body comes in the packets that a server sends before it knows the connection, however slow that is (RFC 6928).
    private static let smallestBody: Int64 = 16 << 10
    /// The number of transfers that are kept.
    private static let maximumCount = 64
    private static let halfLife = 30.0
    /// The age of the last transfer from which on nothing is known, in seconds.
    private static let lifetime = 300.0
    /// The shortest time that a transfer is taken to last, in seconds.
    private static let shortestTime = 0.0001

    private let state = Mutex(State())

    /// Adds a transfer that has ended just now.
    func record(_ metrics: TransferMetrics, at now: Date) {
        guard metrics.receivedByteCount >= Self.smallestBody else { return }
        let end = now.timeIntervalSince1970
        let duration = max((metrics.total - metrics.firstByte).bounded / .seconds(1), Self.shortestTime)
        let transfer = Transfer(start: end - duration, end: end, byteCount: Double(metrics.receivedByteCount))
        state.withLock { state in
            // Before a clock that was set back, everything lies in the future.
            if let last = state.transfers.last, last.end > end { state.transfers = [] }
            if state.transfers.count >= Self.maximumCount { state.transfers.removeFirst() }
            state.transfers.append(transfer)
            state.speed = nil
        }
    }

    /// The bytes per second; `nil` when there was no transfer of late.
    func bytesPerSecond(at now: Date) -> Double? {
        state.withLock { state in
            guard let last = state.transfers.last,
                (0..<Self.lifetime).contains(now.timeIntervalSince1970 - last.end)
            else { return nil }
            if let speed = state.speed { return speed }
            let speed = Self.speed(of: state.transfers, until: last.end)
            state.speed = speed
            return speed
        }
    }

    /// Forgets the transfers over another connection.
    func networkChanged(to status: NetworkStatus) {
        state.withLock { state in
            guard state.isMetered != status.isMetered || state.isAvailable != status.isAvailable else { return }
            state = State(isMetered: status.isMetered, isAvailable: status.isAvailable)
        }
    }

    private static func speed(of transfers: [Transfer], until now: Double) -> Double {
        /// The integral of the weight, which halves with each half-life before now.
        func weight(_ start: Double, _ end: Double) -> Double {
            (exp2((end - now) / halfLife) - exp2((start - now) / halfLife)) * halfLife / log(2)
        }
        var (bytes, time) = (0.0, 0.0)
        var end = -Double.infinity
        for transfer in transfers.sorted(by: { $0.start < $1.start }) {
            // Its bytes are taken to have come evenly.
            bytes += transfer.byteCount * weight(transfer.start, transfer.end) / (transfer.end - transfer.start)
            guard transfer.end > end else { continue }
            time += weight(max(transfer.start, end), transfer.end)
            end = transfer.end
        }
        return time > 0 ? bytes / time : 0
    }
}
