/// A monitor of whether the machine is online, and whether data is metered. It can be used from any thread.
package protocol NetworkMonitoring: Sendable {
    /// The current status. Reading it must not notify observers.
    var status: ImageNetworkStatus { get }

    /// Calls a handler on any thread with every change, for as long as the token exists.
    func observe(_ handler: @escaping @Sendable (ImageNetworkStatus) -> Void) -> ObservationToken
}

/// Whether the machine is online, and whether there is a reason to save data or power.
public struct ImageNetworkStatus: Sendable, Equatable {
    /// Whether there is a network connection.
    public var isAvailable: Bool
    /// Whether the user pays for the amount of data.
    public var isMetered: Bool
    /// Whether the power saver is on.
    public var isPowerSaving: Bool
    /// Whether there is no connection because you have set ``ImageManager/isOffline``.
    package internal(set) var isOfflineByApp = false

    /// Creates a status. Default: online, not metered, not saving power.
    package init(isAvailable: Bool = true, isMetered: Bool = false, isPowerSaving: Bool = false) {
        self.isAvailable = isAvailable
        self.isMetered = isMetered
        self.isPowerSaving = isPowerSaving
    }

    /// Whether optional work such as prefetching should wait.
    var isConstrained: Bool { !isAvailable || isMetered || isPowerSaving }
}

/// The monitor of a manager without a monitor: the machine always counts as online.
package struct AlwaysOnline: NetworkMonitoring {
    package init() {}

    package var status: ImageNetworkStatus { ImageNetworkStatus() }

    package func observe(_ handler: @escaping @Sendable (ImageNetworkStatus) -> Void) -> ObservationToken {
        ObservationToken {}
    }
}
