package import Synchronization

extension Mutex where Value: ~Copyable {
    /// Changes the value, and releases what the change has removed once the lock is free: the closures and objects of the app that go
    /// with it may use what the lock protects.
    /// - Returns: Whether anything was removed.
    @discardableResult
    package func release<Removed>(_ change: (inout sending Value) -> sending Removed?) -> Bool {
        let removed = withLock(change)
        return withExtendedLifetime(removed) { removed != nil }
    }
}
