/// Whether the machine is online, and whether there are reasons to be sparing.
public struct NetworkStatus: Sendable, Equatable {
    /// Whether there is a network at all.
    public var isAvailable: Bool
    /// Whether its user pays by the byte.
    public var isMetered: Bool
    /// Whether the power saver is on.
    public var isPowerSaving: Bool

    /// Makes a status. By default all is well.
    public init(isAvailable: Bool = true, isMetered: Bool = false, isPowerSaving: Bool = false) {
        self.isAvailable = isAvailable
        self.isMetered = isMetered
        self.isPowerSaving = isPowerSaving
    }

    /// Whether work that nobody waits for, such as prefetching, had better not be done.
    public var isSparing: Bool { !isAvailable || isMetered || isPowerSaving }
}
