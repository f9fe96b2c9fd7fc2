// Numbers from outside (settings of an app, fields of a file) can be NaN, infinite or huge. Swift traps where C would
// wrap, so every conversion and product of such a number goes through this file. The functions are inlinable because
// other modules would otherwise call them through protocol witnesses, and computing the size of a widget calls several.

extension FixedWidthInteger {
    /// The integer part of a number, or the nearest value of the type. NaN counts as zero.
    @inlinable
    package init(bounded value: Double) {
        if value.isNaN {
            self = 0
        } else if value <= Double(Self.min) {
            self = .min
        } else if value >= Double(Self.max) {
            // Double(Int.max) is rounded up to a number that Int cannot represent.
            self = .max
        } else {
            self = Self(value)
        }
    }

    /// The value of a text of decimal digits, or the largest value of the type; `nil` for any other text, such as one
    /// with a sign.
    package init?(digits: some StringProtocol) {
        let isDigit = { (byte: UInt8) in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        guard !digits.isEmpty, digits.utf8.allSatisfy(isDigit) else { return nil }
        self = Self(digits) ?? .max
    }

    /// The sum, or the nearest value of the type.
    @inlinable
    package func boundedSum(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The product of two numbers that are not negative, or the largest value of the type.
    @inlinable
    package func boundedProduct(_ other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }
}

extension Double {
    /// The number, or the nearest bound.
    /// - Parameter substitute: The result for NaN.
    package func bounded(to range: ClosedRange<Double>, ifNaN substitute: Double) -> Double {
        isNaN ? substitute : Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}

extension Duration {
    /// A hundred years: longer than any program runs, and short enough for a nanosecond count in an Int.
    package static let longest = Duration.seconds(3_155_760_000)

    /// A number of seconds, limited to ``longest`` in both directions. NaN counts as zero.
    package static func bounded(seconds: Double) -> Duration {
        let limit = longest / .seconds(1)
        return .seconds(seconds.bounded(to: -limit...limit, ifNaN: 0))
    }

    /// The duration, or the longest one; zero for a negative one.
    package var bounded: Duration { min(max(self, .zero), .longest) }

    /// The milliseconds, limited to the largest value of libcurl and GLib (24 days).
    package var timeoutMilliseconds: Int32 { Int32(bounded: bounded / .milliseconds(1)) }
}
