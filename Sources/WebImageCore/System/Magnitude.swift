/// A number of bytes or pixels as messages write it, since nobody can read 134217728.
package struct Magnitude: CustomStringConvertible, Sendable {
    package let description: String

    /// A number of bytes: below 1024 as it is, else in KiB, MiB and so on, with one decimal below 10.
    package static func bytes(_ count: Int) -> Magnitude {
        guard count >= 1024 else { return Magnitude(description: count == 1 ? "1 byte" : "\(count) bytes") }
        var (value, units) = (Double(count) / 1024, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][...])
        // What would be rounded to 1024 is one of the next unit.
        while value >= 1023.5, units.count > 1 {
            value /= 1024
            units = units.dropFirst()
        }
        return Magnitude(description: "\(rounded(value)) \(units[units.startIndex])")
    }

    /// A number of pixels: below a million as it is, else in megapixels, with one decimal below 10.
    package static func pixels(_ count: Int) -> Magnitude {
        guard count >= 1_000_000 else { return Magnitude(description: count == 1 ? "1 pixel" : "\(count) pixels") }
        let number = rounded(Double(count) / 1_000_000)
        return Magnitude(description: number == "1" ? "1 megapixel" : "\(number) megapixels")
    }

    private static func rounded(_ value: Double) -> String {
        let tenths = Int(bounded: (value * 10).rounded())
        return tenths < 100 && tenths % 10 != 0 ? "\(tenths / 10).\(tenths % 10)" : "\(Int(bounded: value.rounded()))"
    }
}
