/// The severity of a memory shortage. It decides how much of its limit the memory cache may keep.
public enum MemoryPressure: Sendable, Hashable, CaseIterable {
    /// Memory is getting short. The cache shrinks to half of its limit.
    case moderate
    /// Memory is short. The cache shrinks to a quarter of its limit.
    case high
    /// The system is about to end processes. The cache is emptied.
    case critical

    /// The share of its limit that the cache may keep, from 0 to 1.
    package var share: Double {
        switch self {
        case .moderate: 0.5
        case .high: 0.25
        case .critical: 0
        }
    }
}
