import Synchronization

/// Tells whoever works with the bytes of an image whether another version has taken their place since, or they were removed.
///
/// A cache is not asked: what is decoded just now may be in none, and what was removed leaves nothing to compare with. The latest changes
/// of thousands of images are known. Work that is older than those counts as outdated, which costs one decode more.
package final class ImageVersions: Sendable {
    /// The moment at which bytes were read or have arrived. No two are equal.
    package struct Mark: Sendable, Equatable {
        fileprivate let number: UInt64
    }

    private struct Change {
        let number: UInt64
        /// The mark of the bytes that have come with the change.
        let version: Mark?
        /// Whether a cache may still have the bytes before those.
        let isBeingStored: Bool
    }

    private struct State {
        var serial = Serial()
        /// The latest changes by the hash of the key. A hash that two images share costs one decode as well.
        var changes: [Int: Change] = [:]
        /// The changes before those.
        var earlier: [Int: Change] = [:]
        /// The number of the latest change before `changes`.
        var end: UInt64 = 0
        /// The number of the latest change that concerns all images, or is not known any more.
        var floor: UInt64 = 0

        mutating func add(_ change: Change, of hash: Int, limit: Int) {
            if changes.count >= limit {
                floor = max(floor, end)
                earlier = exchange(&changes, with: [:])
                end = change.number - 1
            }
            changes[hash] = change
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: The number of images whose changes are known at least.
    package init(limit: Int = 2048) {
        self.limit = limit
    }

    /// Called when bytes have arrived.
    package func mark() -> Mark { state.withLock { Mark(number: $0.serial.next()) } }

    /// Called before bytes are read from a cache. While newer ones are being stored there, they are never current.
    package func mark(reading key: String) -> Mark {
        let hash = key.hashValue
        return state.withLock { state in
            let isOutdated = (state.changes[hash] ?? state.earlier[hash])?.isBeingStored == true
            return Mark(number: isOutdated ? 0 : state.serial.next())
        }
    }

    /// Takes note that an image is another one from now on, or none.
    /// - Parameters:
    ///   - version: The bytes that it is made of now, which stay current.
    ///   - isBeingStored: Whether another call tells when a cache has these bytes, or none.
    package func change(_ key: String, to version: Mark? = nil, isBeingStored: Bool = false) {
        let hash = key.hashValue
        state.withLock { state in
            let change = Change(number: state.serial.next(), version: version, isBeingStored: isBeingStored)
            state.add(change, of: hash, limit: limit)
        }
    }

    /// Takes note that all images were removed.
    package func changeAll() {
        state.release { state in
            state.floor = state.serial.next()
            return (exchange(&state.changes, with: [:]), exchange(&state.earlier, with: [:]))
        }
    }

    /// Whether the bytes of a mark are still those of their image.
    /// - Parameter mark: The mark; `nil` for bytes that nothing can replace.
    package func isCurrent(_ mark: Mark?, of key: String) -> Bool {
        guard let mark else { return true }
        let hash = key.hashValue
        return state.withLock { state in
            guard mark.number > state.floor else { return false }
            guard let change = state.changes[hash] ?? state.earlier[hash] else { return true }
            return change.number < mark.number || change.version == mark
        }
    }
}
