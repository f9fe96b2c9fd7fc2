/// A monitor of whether the machine is online, and at whose cost. It can be used from any thread.
package protocol NetworkMonitoring: Sendable {
    /// The status now. Reading it must notify nobody.
    var status: NetworkStatus { get }

    /// Calls a handler with every change, on any thread, for as long as the token exists.
    func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> ObservationToken
}

/// Whether the machine is online, and whether there is a reason to save data or power.
public struct NetworkStatus: Sendable, Equatable {
    /// Whether there is a network connection.
    public var isAvailable: Bool
    /// Whether the user pays for the amount of data.
    public var isMetered: Bool
    /// Whether the power saver is on.
    public var isPowerSaving: Bool
    /// Whether there is no connection because the app has set ``ImageManager/isOffline``.
    public internal(set) var isOfflineByApp = false

    /// Makes a status. Default: online, not metered, not saving power.
    package init(isAvailable: Bool = true, isMetered: Bool = false, isPowerSaving: Bool = false) {
        self.isAvailable = isAvailable
        self.isMetered = isMetered
        self.isPowerSaving = isPowerSaving
    }

    /// Whether optional work such as prefetching should wait.
    var isConstrained: Bool { !isAvailable || isMetered || isPowerSaving }
}

/// The monitor of a manager that has none: the machine is always taken to be online.
package struct AlwaysOnline: NetworkMonitoring {
    package init() {}

    package var status: NetworkStatus { NetworkStatus() }

    package func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> ObservationToken {
        ObservationToken {}
    }
}
