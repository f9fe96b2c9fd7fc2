import Synchronization

/// The order of what an app stores: an image that takes long to encode must not replace one that was stored after it, nor
/// come back after it was removed.
package final class StoreOrder: Sendable {
    private struct State {
        var serial = Serial()
        /// The newest image of each key that is being encoded.
        var newest: [String: UInt64] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Begins the encoding of an image, and outdates those of the same key.
    func begin(_ key: String) -> UInt64 {
        state.withLock { state in
            let number = state.serial.next()
            state.newest[key] = number
            return number
        }
    }

    /// Stores an image that is encoded, unless it is outdated.
    /// - Parameter store: Called with the lock held, for otherwise another image could be stored in between. It accepts an entry and
    ///   waits for nothing.
    /// - Returns: Whether it was stored.
    func commit(_ key: String, number: UInt64, _ store: () -> Void) -> Bool {
        state.withLock { state in
            guard state.newest[key] == number else { return false }
            state.newest[key] = nil
            store()
            return true
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
