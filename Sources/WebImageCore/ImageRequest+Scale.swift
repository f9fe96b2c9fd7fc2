extension ImageRequest {
    /// The largest scale that a name can state. A larger number is rather the size of an icon.
    private static let largestScaleInName = 10.0

    /// 2 for `photo@2x.png`, 1.5 for `photo@1.5x.png`, else 1. The `@` may be written as `%40`.
    ///
    /// This runs for each request, so it allocates nothing.
    static func scale(inName url: String) -> Double {
        // Few URLs get further than this.
        guard !url.isDataURL, url.contains(anyOf: "@", "%") else { return 1 }
        var bytes = url.utf8[...]
        if let end = bytes.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
            bytes = bytes[..<end]
        }
        if let slash = bytes.lastIndex(of: UInt8(ascii: "/")) { bytes = bytes[bytes.index(after: slash)...] }
        // The last dot may belong to the scale.
        if let scale = scale(atEndOf: bytes) { return scale }
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return 1 }
        return scale(atEndOf: bytes[..<dot]) ?? 1
    }

    /// The number between `@` and `x` at the end of a name, which is read backwards.
    private static func scale(atEndOf name: Substring.UTF8View) -> Double? {
        var rest = name
        guard rest.popLast() == UInt8(ascii: "x") else { return nil }
        // The digits, the power of ten of the next digit, and that of the dot.
        var (number, place, point) = (0, 1, 0)
        while let byte = rest.popLast(), place < 1_000_000 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                number += Int(byte - UInt8(ascii: "0")) * place
                place *= 10
            case UInt8(ascii: ".") where point == 0 && place > 1:
                point = place
            case UInt8(ascii: "@"):
                return scale(number, before: point, place)
            case UInt8(ascii: "%") where place >= 1000 && number / (place / 100) == 40:
                // The first two digits belong to the escape.
                return scale(number % (place / 100), before: point, place / 100)
            default:
                return nil
            }
        }
        return nil
    }

    /// - Parameters:
    ///   - point: The power of ten of the dot; 0 if there is none.
    ///   - place: The power of ten of the first digit. Both are equal if no digit precedes the dot.
    private static func scale(_ number: Int, before point: Int, _ place: Int) -> Double? {
        guard place > max(point, 1) else { return nil }
        let scale = Double(number) / Double(max(point, 1))
        return (1...largestScaleInName).contains(scale) ? scale : nil
    }
}
