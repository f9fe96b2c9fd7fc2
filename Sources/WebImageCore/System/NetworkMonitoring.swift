/// Knows whether the machine is online, and at whose cost. From any thread.
package protocol NetworkMonitoring: Sendable {
    /// How things are now.
    var status: NetworkStatus { get }

    /// Calls handler with every change, on any thread, as long as the result is kept.
    func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> any AnyObject & Sendable
}

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
    public var isConstrained: Bool { !isAvailable || isMetered || isPowerSaving }
}

/// A machine of which nothing is known: taken to be online.
package struct AlwaysOnline: NetworkMonitoring {
    private final class Nothing: Sendable {}

    package init() {}

    package var status: NetworkStatus { NetworkStatus() }

    package func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> any AnyObject & Sendable {
        Nothing()
    }
}
