/// The urgency of a load. A load that several callers share has the highest of their priorities.
public enum ImagePriority: Comparable, CaseIterable, Sendable {
    /// Work that can wait for everything else, such as prefetching.
    case veryLow
    /// An image that is bound but not on screen.
    case low
    /// A load without a widget. The default of a request.
    case normal
    /// An image on screen.
    case high
    /// An image that the user explicitly asked for.
    case veryHigh

    /// The position among all priorities: 0 for the lowest.
    package var rank: Int {
        switch self {
        case .veryLow: 0
        case .low: 1
        case .normal: 2
        case .high: 3
        case .veryHigh: 4
        }
    }

    /// The priority of a Swift task that works for a load of this priority.
    package var taskPriority: TaskPriority {
        switch self {
        case .veryLow, .low: .utility
        case .normal: .medium
        case .high, .veryHigh: .userInitiated
        }
    }
}
