import Synchronization

/// The order of what an app stores: an image that takes long to encode must not replace one that was stored after it, nor
/// come back after it was removed.
final class StoreOrder: Sendable {
    private struct State {
        var serial = Serial()
        /// The newest image of each key that is being encoded.
        var newest: [String: UInt64] = [:]
        /// The keys whose entries are being stored or removed, with what somebody else has done with the entry meanwhile.
        var changing: [String: Change?] = [:]

        /// Takes note of a change that begins.
        /// - Returns: Whether no other change of the key runs, and which change need not be repeated any more.
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

    /// Begins the encoding of an image, and outdates those of the same key.
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

    /// Stores or removes the entry of a key, so that of several changes at a time the last one counts that was begun.
    ///
    /// The cache may be the app's, and do in this call whatever it likes. No lock is held therefore, and no change waits for another:
    /// the one that began first repeats what came in between.
    /// - Parameter change: Accepts an entry or removes it. Called within this call, and possibly once more on another thread.
    func perform(_ key: String, _ change: @escaping Change) {
        let begun = state.withLock { $0.begin(change, of: key) }
        withExtendedLifetime(begun) { run(change, of: key, isFirst: begun.isFirst) }
    }

    /// Removes the entries of all keys.
    /// - Parameters:
    ///   - change: Removes them. Called within this call.
    ///   - remove: Removes an entry that was stored at the same time.
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

    /// What has to be repeated; `nil` once nothing has.
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
    /// - Parameter number: The only image that is concerned. Default: all.
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
