/// Why memory is to be given back, and how much of it.
public enum MemoryPressure: Sendable, Hashable, CaseIterable {
    /// No window of the app is on screen: half of the cache goes.
    case hidden
    /// The system would like to have some memory back: half of the cache goes.
    case low
    /// The system is short of memory: three quarters go.
    case medium
    /// The system is about to end programs: all of it goes.
    case critical

    /// The share of the cache's limit that may stay.
    package var share: Double {
        switch self {
        case .hidden, .low: 0.5
        case .medium: 0.25
        case .critical: 0
        }
    }
}
