import FoundationEssentials
import GtkWebImage
import Synchronization
import WebImageTesting

/// The network connection that the gallery's server simulates for all pages. It can be changed at any time, which also
/// concerns the transfers under way.
final class Line: Sendable {
    private struct State {
        var quality = LineQuality()
        /// When the bytes that were handed to the line so far are through.
        var freeAt = ContinuousClock.now
        var byteCount = 0
    }

    /// How a response goes wrong.
    private enum Mishap: CaseIterable {
        case unavailable, cutOff, wrongType, stalled
    }

    /// The time after which a lost packet is sent again.
    private static let retransmission = Duration.milliseconds(200)
    private static let packetSize = 1460.0
    /// The time that a stalled response takes until it goes on.
    private static let stall = Duration.seconds(4)

    private let state = Mutex(State())

    var quality: LineQuality {
        get { state.withLock { $0.quality } }
        set {
            state.withLock { state in
                state.quality = newValue
                state.freeAt = .now
            }
        }
    }

    /// The bytes that came through so far, those of responses that were cut short included.
    var byteCount: Int { state.withLock { $0.byteCount } }

    /// Returns a response as it comes through the line.
    func carry(_ response: ServerResponse) -> ServerResponse {
        let quality = quality
        var response = response
        if quality.isOffline {
            // The connection ends without a word.
            response.faults = ServerFaults()
            response.faults.rawResponse = Data()
            return response
        }
        if Double.random(in: 0..<1) < quality.chaos { response = befall(response) }
        let latency = Duration.seconds(quality.latency / 1000) + pauseForLoss(of: 2, quality)
        response.faults.delay = (response.faults.delay ?? .zero) + latency
        // A slow line moves small pieces, so that several transfers take turns on it.
        let pieceSize = Int(min((quality.bandwidth ?? .infinity) / 20, 16384))
        response.faults.pace = (bytes: max(pieceSize, 256), pause: { self.pause(for: $0) })
        return response
    }

    /// The time that a piece of a response takes; `nil` when it does not get through. All transfers share the bandwidth.
    private func pause(for byteCount: Int) -> Duration? {
        state.withLock { state in
            let quality = state.quality
            guard !quality.isOffline else { return nil }
            state.byteCount += byteCount
            let now = ContinuousClock.now
            var end = now
            if let bandwidth = quality.bandwidth {
                state.freeAt = max(state.freeAt, now) + .seconds(Double(byteCount) / bandwidth)
                end = state.freeAt
            }
            return now.duration(to: end) + pauseForLoss(of: Double(byteCount) / Self.packetSize, quality)
        }
    }

    private func pauseForLoss(of packetCount: Double, _ quality: LineQuality) -> Duration {
        guard quality.loss > 0 else { return .zero }
        let packets = Int(packetCount.rounded(.up))
        return Self.retransmission * (0..<packets).count { _ in Double.random(in: 0..<1) < quality.loss }
    }

    private func befall(_ response: ServerResponse) -> ServerResponse {
        var response = response
        switch Mishap.allCases.randomElement() {
        case .unavailable: return .status(503)
        case .cutOff: response.faults.closeAfterBytes = response.body.count / 2
        case .wrongType: return .ok(Data("<!DOCTYPE html><p>Sign in to this network".utf8), contentType: "text/html")
        case .stalled, nil: response.faults.delay = (response.faults.delay ?? .zero) + Self.stall
        }
        return response
    }
}
