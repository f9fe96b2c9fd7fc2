/// A machine of which nothing is known: taken to be online.
package struct AlwaysOnline: NetworkMonitoring {
    private final class Nothing: Sendable {}

    package init() {}

    package var status: NetworkStatus { NetworkStatus() }

    package func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> any AnyObject & Sendable {
        Nothing()
    }
}
