/// How urgent a load is, compared with the others that wait. A shared load has the highest priority of those who wait.
public enum ImagePriority: Int, Comparable, CaseIterable, Sendable {
    /// Work that may wait for everything else, such as prefetching.
    case veryLow
    /// An image that is bound but not on screen.
    case low
    /// The default.
    case normal
    /// An image on screen.
    case high
    /// An image the user asked for by hand.
    case veryHigh

    /// Ordered by urgency.
    public static func < (lhs: ImagePriority, rhs: ImagePriority) -> Bool { lhs.rawValue < rhs.rawValue }
}
