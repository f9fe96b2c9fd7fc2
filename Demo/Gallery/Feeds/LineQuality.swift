/// The quality of a network connection.
struct LineQuality: Equatable, Sendable {
    /// The time until a response begins, in milliseconds.
    var latency = 0.0
    /// The bytes a second of all transfers together; `nil` for as many as the computer moves.
    var bandwidth: Double?
    /// The share of packets that are lost, from 0 to 1. Each is sent again after a while.
    var loss = 0.0
    /// Whether nothing gets through.
    var isOffline = false
    /// The share of responses that go wrong in another way each, from 0 to 1.
    var chaos = 0.0
}

/// A kind of network connection that one meets.
enum LinePreset: String, CaseIterable {
    case office
    case mobile
    case train
    case tunnel
    case chaos

    /// Its title, the middle of the name of its icon, and the style of its button: a colour of Adwaita, or one of Style.swift.
    var looks: (title: String, icon: String, style: String) {
        switch self {
        case .office: (tr("Office"), "wired", "success")
        case .mobile: (tr("4G"), "cellular-4g", "accent")
        case .train: (tr("Train"), "cellular-signal-weak", "warning")
        case .tunnel: (tr("Tunnel"), "offline", "tunnel")
        case .chaos: (tr("Chaos"), "error", "error")
        }
    }

    var quality: LineQuality {
        switch self {
        case .office: LineQuality()
        case .mobile: LineQuality(latency: 60, bandwidth: 1_500_000, loss: 0.005)
        case .train: LineQuality(latency: 300, bandwidth: 150_000, loss: 0.04)
        case .tunnel: LineQuality(isOffline: true)
        case .chaos: LineQuality(latency: 80, bandwidth: 1_000_000, loss: 0.02, chaos: 0.3)
        }
    }
}
