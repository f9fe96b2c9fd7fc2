/// A number of bytes or pixels as messages print it, because 134217728 is hard to read.
package struct Magnitude: CustomStringConvertible, Sendable, Equatable {
    package let description: String

    /// A number of bytes: unchanged below 1024, else in KiB, MiB and so on, with one decimal below 10.
    package static func bytes(_ count: Int) -> Magnitude { bytes(count, power: powerOf1024(count)) }

    /// A number of pixels: unchanged below a million, else in megapixels, with one decimal below 10.
    package static func pixels(_ count: Int) -> Magnitude { pixels(count, inMillions: count >= million) }

    /// A number of bytes and the limit that it exceeds, for one sentence. Both are in the unit of the limit, and exact
    /// if rounding would make them equal.
    package static func bytes(_ count: Int, exceeding limit: Int) -> (count: Magnitude, limit: Magnitude) {
        let power = powerOf1024(limit)
        let rounded = (bytes(count, power: power), bytes(limit, power: power))
        return rounded.0 == rounded.1 ? (bytes(count, power: 0), bytes(limit, power: 0)) : rounded
    }

    /// A number of pixels and the limit that it exceeds, formatted in the same way.
    package static func pixels(_ count: Int, exceeding limit: Int) -> (count: Magnitude, limit: Magnitude) {
        let isLarge = limit >= million
        let rounded = (pixels(count, inMillions: isLarge), pixels(limit, inMillions: isLarge))
        return rounded.0 == rounded.1 ? (pixels(count, inMillions: false), pixels(limit, inMillions: false)) : rounded
    }

    private static let million = 1_000_000
    private static let byteUnits = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// The unit of a number of bytes. A number that would be rounded to 1024 gets the next unit.
    private static func powerOf1024(_ count: Int) -> Int {
        guard count >= 1024 else { return 0 }
        var (value, power) = (Double(count) / 1024, 1)
        while value >= 1023.5, power < byteUnits.count - 1 {
            value /= 1024
            power += 1
        }
        return power
    }

    private static func bytes(_ count: Int, power: Int) -> Magnitude {
        guard power > 0 else { return Magnitude(description: count == 1 ? "1 byte" : "\(count) bytes") }
        let value = (0..<power).reduce(Double(count)) { value, _ in value / 1024 }
        return Magnitude(description: "\(rounded(value)) \(byteUnits[power])")
    }

    private static func pixels(_ count: Int, inMillions: Bool) -> Magnitude {
        guard inMillions else { return Magnitude(description: count == 1 ? "1 pixel" : "\(count) pixels") }
        let number = rounded(Double(count) / Double(million))
        return Magnitude(description: number == "1" ? "1 megapixel" : "\(number) megapixels")
    }

    private static func rounded(_ value: Double) -> String {
        let tenths = Int(bounded: (value * 10).rounded())
        return tenths < 100 && tenths % 10 != 0 ? "\(tenths / 10).\(tenths % 10)" : "\(Int(bounded: value.rounded()))"
    }
}
