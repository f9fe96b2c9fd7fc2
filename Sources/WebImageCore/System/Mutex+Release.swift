package import Synchronization

extension Mutex where Value: ~Copyable {
    /// Changes the value, and releases the removed part once the lock is free. Closures and objects of the app that are
    /// released with it may use the value behind the lock.
    /// - Returns: Whether anything was removed.
    @discardableResult
    package func release<Removed>(_ change: (inout sending Value) -> sending Removed?) -> Bool {
        let removed = withLock(change)
        return withExtendedLifetime(removed) { removed != nil }
    }
}
