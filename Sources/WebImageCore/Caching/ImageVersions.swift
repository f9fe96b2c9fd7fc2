import Synchronization

/// Records whether the bytes of an image were replaced or removed after they were read.
///
/// Asking a cache is not enough: bytes that are being decoded may be in no cache, and removed bytes leave nothing to compare. The
/// latest changes of thousands of images are known. Older work counts as outdated, which costs one extra decode.
package final class ImageVersions: Sendable {
    /// The moment at which bytes were read or arrived. No two are equal.
    package struct Mark: Sendable, Equatable {
        fileprivate let number: UInt64
        /// Whether the bytes were already replaced or removed when they got the mark.
        fileprivate var isOutdated = false
    }

    private struct Change {
        let number: UInt64
        /// The mark of the bytes that the change brought.
        let version: Mark?
        /// Whether a cache may still have the previous bytes.
        let isBeingStored: Bool
    }

    private struct State {
        var serial = Serial()
        /// The latest changes by the hash of the key. A hash collision costs one extra decode.
        var changes: [Int: Change] = [:]
        /// The changes before `changes`.
        var earlier: [Int: Change] = [:]
        /// The number of the latest change before `changes`.
        var end: UInt64 = 0
        /// The number of the latest change that concerns all images, or that was forgotten.
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

    /// - Parameter limit: The minimum number of images whose changes are remembered.
    package init(limit: Int = 2048) {
        self.limit = limit
    }

    /// Called when bytes have arrived.
    package func mark() -> Mark { state.withLock { Mark(number: $0.serial.next()) } }

    /// Called when bytes have arrived that were requested after a mark, for example the mark of a read without a result. The bytes
    /// are not current if the app has removed or replaced the image in between.
    func mark(of key: String, since begin: Mark) -> Mark {
        let hash = key.hashValue
        return state.withLock { state in
            let change = state.changes[hash] ?? state.earlier[hash]
            let removal = change.map { $0.version == nil ? $0.number : 0 } ?? 0
            return Mark(number: state.serial.next(), isOutdated: max(state.floor, removal) > begin.number)
        }
    }

    /// Called before bytes are read from a cache. The mark is never current while newer bytes are being stored there.
    package func mark(reading key: String) -> Mark {
        let hash = key.hashValue
        return state.withLock { state in
            let isOutdated = (state.changes[hash] ?? state.earlier[hash])?.isBeingStored == true
            return Mark(number: state.serial.next(), isOutdated: isOutdated)
        }
    }

    /// Records that an image was replaced or removed.
    /// - Parameters:
    ///   - version: The mark of the new bytes, which stay current.
    ///   - isBeingStored: Whether another call follows once the store has ended.
    package func change(_ key: String, to version: Mark? = nil, isBeingStored: Bool = false) {
        let hash = key.hashValue
        state.withLock { state in
            let change = Change(number: state.serial.next(), version: version, isBeingStored: isBeingStored)
            state.add(change, of: hash, limit: limit)
        }
    }

    /// Records that all images were removed.
    package func changeAll() {
        state.release { state in
            state.floor = state.serial.next()
            return (exchange(&state.changes, with: [:]), exchange(&state.earlier, with: [:]))
        }
    }

    /// Whether the bytes of a mark are still current.
    /// - Parameter mark: The mark; `nil` for bytes that cannot be replaced.
    package func isCurrent(_ mark: Mark?, of key: String) -> Bool {
        guard let mark else { return true }
        let hash = key.hashValue
        return state.withLock { state in
            guard !mark.isOutdated, mark.number > state.floor else { return false }
            guard let change = state.changes[hash] ?? state.earlier[hash] else { return true }
            return change.number < mark.number || change.version == mark
        }
    }
}
