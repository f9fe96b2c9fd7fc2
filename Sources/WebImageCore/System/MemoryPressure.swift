/// The severity of a memory shortage, which decides how much of its memory the cache gives back.
public enum MemoryPressure: Sendable, Hashable, CaseIterable {
    /// Memory is getting short: the cache keeps half of its limit.
    case moderate
    /// Memory is short: the cache keeps a quarter of its limit.
    case high
    /// The system is about to end processes: the cache is emptied.
    case critical

    /// The share of its limit that the cache may keep, 0 to 1.
    package var share: Double {
        switch self {
        case .moderate: 0.5
        case .high: 0.25
        case .critical: 0
        }
    }
}
