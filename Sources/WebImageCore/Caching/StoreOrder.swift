import Synchronization

/// Keeps the changes that an app makes to the cache in order: an image that takes long to encode must not replace a newer one, or
/// reappear after its removal.
final class StoreOrder: Sendable {
    private struct State {
        var serial = Serial()
        /// The newest image of each key that is being encoded.
        var newest: [String: UInt64] = [:]
        /// The keys whose entries are being stored or removed, with the change that must be repeated, if any.
        var changing: [String: Change?] = [:]

        /// Records that a change begins.
        /// - Returns: Whether no other change of the key runs, and the pending change that this one replaces.
        mutating func begin(_ change: @escaping Change, of key: String) -> (isFirst: Bool, outdated: Change?) {
            guard let meanwhile = changing[key] else {
                changing[key] = .some(nil)
                return (true, nil)
            }
            changing[key] = change
            return (false, meanwhile)
        }
    }

    typealias Change = @Sendable () -> Void

    private let state = Mutex(State())

    init() {}

    /// Begins the encoding of an image, and outdates earlier images of the same key.
    func begin(_ key: String) -> UInt64 {
        state.withLock { state in
            let number = state.serial.next()
            state.newest[key] = number
            return number
        }
    }

    /// Stores an image that is encoded, unless it is outdated.
    /// - Parameter store: As in ``perform(_:_:)``.
    /// - Returns: Whether it was stored.
    func commit(_ key: String, number: UInt64, _ store: @escaping Change) -> Bool {
        let begun = state.withLock { state -> (isFirst: Bool, outdated: Change?)? in
            guard state.newest[key] == number else { return nil }
            state.newest[key] = nil
            return state.begin(store, of: key)
        }
        guard let begun else { return false }
        withExtendedLifetime(begun) { run(store, of: key, isFirst: begun.isFirst) }
        return true
    }

    /// Stores or removes the entry of a key. Of several concurrent changes, the one begun last wins.
    ///
    /// A cache of the app may run arbitrary code in this call. So no lock is held and no change waits for another: the change that
    /// began first repeats the latest one that began meanwhile.
    /// - Parameter change: Accepts an entry or removes it. Called within this call, and possibly again on another thread.
    func perform(_ key: String, _ change: @escaping Change) {
        let begun = state.withLock { $0.begin(change, of: key) }
        withExtendedLifetime(begun) { run(change, of: key, isFirst: begun.isFirst) }
    }

    /// Removes the entries of all keys.
    /// - Parameters:
    ///   - change: Removes them. Called within this call.
    ///   - remove: Removes an entry that is stored at the same time.
    func performForAll(_ change: Change, remove: @escaping @Sendable (_ key: String) -> Void) {
        let outdated = state.withLock { state in
            let outdated = state.changing
            for key in outdated.keys { state.changing[key] = { remove(key) } }
            return outdated
        }
        change()
        withExtendedLifetime(outdated) {}
    }

    private func run(_ change: Change, of key: String, isFirst: Bool) {
        change()
        guard isFirst else { return }
        while let next = nextChange(of: key) { next() }
    }

    /// The change that must be repeated; `nil` if there is none.
    private func nextChange(of key: String) -> Change? {
        state.withLock { state in
            guard let change = state.changing[key] ?? nil else {
                state.changing[key] = nil
                return nil
            }
            state.changing[key] = .some(nil)
            return change
        }
    }

    /// Outdates the images of a key that are being encoded.
    /// - Parameter number: The only image to outdate. Default: all of the key.
    func outdate(_ key: String, number: UInt64? = nil) {
        state.withLock { state in
            if number == nil || state.newest[key] == number { state.newest[key] = nil }
        }
    }

    /// Outdates all images that are being encoded.
    func outdateAll() {
        state.withLock { $0.newest = [:] }
    }
}
