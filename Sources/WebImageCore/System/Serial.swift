/// A source of identifiers: 1, 2, 3 and so on, none of them twice.
package struct Serial: Sendable {
    private var last: UInt64 = 0

    package init() {}

    package mutating func next() -> UInt64 {
        last += 1
        return last
    }
}
