package import Foundation

package enum TestBytes {
    /// Bytes of which each differs from the one before by the same step. They are copied, since a closure for each byte takes a
    /// debug build seconds for some megabytes.
    package static func stepping(by step: Int, from start: Int = 0, count: Int) -> Data {
        let period = Data((0..<256).map { UInt8(truncatingIfNeeded: $0 &* step &+ start) })
        var bytes = Data(capacity: count)
        while bytes.count < count { bytes.append(period.prefix(count - bytes.count)) }
        return bytes
    }
}
