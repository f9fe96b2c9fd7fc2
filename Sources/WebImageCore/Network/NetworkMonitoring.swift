/// Knows whether the machine is online, and at whose cost. From any thread.
package protocol NetworkMonitoring: Sendable {
    /// How things are now.
    var status: NetworkStatus { get }

    /// Calls `handler` with every change, on any thread, as long as the result is kept.
    func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> any AnyObject & Sendable
}
