import Synchronization

/// A source of identifiers: 1, 2, 3 and so on.
package struct Serial: Sendable {
    private var last: UInt64 = 0

    package init() {}

    package mutating func next() -> UInt64 {
        last += 1
        return last
    }

    private static let ages = Atomic<UInt64>(0)

    /// The age of a load that is requested now: a number that is unique in this process and larger than all before.
    static func nextAge() -> UInt64 { ages.add(1, ordering: .relaxed).newValue }
}
