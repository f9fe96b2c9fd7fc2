#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// How a transition gets from its start to its end.
public struct ImageEasing: Sendable {
    private let curve: @Sendable (Double) -> Double

    /// Makes an easing.
    /// - Parameter curve: Gets the share of the time that is over, says the share of the way that is done.
    public init(_ curve: @escaping @Sendable (Double) -> Double) {
        self.curve = curve
    }

    /// The share of the way that is done, at a share of the time: before 0 that of 0, after 1 that of 1.
    public func value(at time: Double) -> Double { curve(min(max(time, 0), 1)) }

    /// Always as fast.
    public static let linear = ImageEasing { $0 }
    /// Slow at first.
    public static let easeIn = ImageEasing { $0 * $0 * $0 }
    /// Slow at the end.
    public static let easeOut = ImageEasing { 1 - pow(1 - $0, 3) }
    /// Slow at both ends.
    public static let easeInOut = ImageEasing { $0 < 0.5 ? 4 * $0 * $0 * $0 : 1 - pow(2 - 2 * $0, 3) / 2 }
}
