/// The directives of a `Cache-Control` field that concern a private cache (RFC 9111, 5.2.2; RFC 5861; RFC 8246).
package struct CacheDirectives: Equatable {
    /// The freshness lifetime in seconds. A value that is not a number counts as zero: the response is stale rather
    /// than wrong (RFC 9111, 4.2.1).
    package private(set) var maxAge: Double?
    package private(set) var staleWhileRevalidate: Double?
    package private(set) var staleIfError: Double?
    package private(set) var isNoStore = false
    package private(set) var isNoCache = false
    package private(set) var mustRevalidate = false
    package private(set) var isImmutable = false

    package init(_ field: String?) {
        for directive in Self.split(field ?? "") {
            let sides = directive.split(separator: "=", maxSplits: 1)
            let name = sides.first.map { Self.trimmed($0).lowercased() } ?? ""
            let value = sides.count > 1 ? Self.trimmed(sides[1]) : nil
            switch name {
            // When a directive occurs twice, the first occurrence counts (RFC 9111, 4.2.1).
            case "max-age": maxAge = maxAge ?? Self.seconds(value)
            case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(value)
            case "stale-if-error": staleIfError = staleIfError ?? Self.seconds(value)
            case "no-store": isNoStore = true
            // A no-cache that names header fields concerns those fields only.
            case "no-cache": isNoCache = isNoCache || value == nil
            case "must-revalidate": mustRevalidate = true
            case "immutable": isImmutable = true
            default: break
            }
        }
    }

    /// Splits a field at the commas outside quoted strings.
    private static func split(_ field: String) -> [Substring] {
        var isQuoted = false
        return field.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        let isPadding = { (character: Character) in character == " " || character == "\t" || character == "\"" }
        return String(text.drop(while: isPadding).reversed().drop(while: isPadding).reversed())
    }

    private static func seconds(_ text: String?) -> Double {
        guard let text, !text.isEmpty, text.allSatisfy({ $0.isASCII && $0.isNumber }) else { return 0 }
        // RFC 9111, 1.2.2: a larger number counts as this one.
        return min(Double(text) ?? 0, 2_147_483_648)
    }
}
