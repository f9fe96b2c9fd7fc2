/// The endpoint at which a server offers HTTP/3 for an origin (RFC 7838, Alt-Svc).
package struct AlternativeService: Hashable, Sendable {
    /// What an Alt-Svc field says. It replaces whatever an earlier one said.
    package enum Offer: Hashable, Sendable {
        case service(AlternativeService)
        /// The field withdraws earlier offers, or names no endpoint for HTTP/3.
        case none
    }

    /// A year. The date at which an offer ends is written to a file, with four digits for its year.
    private static let longestAge = 31_536_000

    /// The host; empty when it is that of the origin.
    package var host: String
    package var port: UInt16
    /// The seconds for which the offer holds.
    package var maximumAge: Int

    package init(host: String = "", port: UInt16, maximumAge: Int = 86_400) {
        self.host = host
        self.port = port
        self.maximumAge = maximumAge
    }

    /// Reads the value of an Alt-Svc field: of several endpoints for HTTP/3 the first, which the server prefers.
    package static func offer(in field: String) -> Offer {
        let items = split(field, at: ",")
        // It withdraws even what stands beside it (RFC 7838, 3), which another field of the response may have brought.
        if items.contains(where: { trimmed($0) == "clear" }) { return .none }
        for item in items {
            let parts = split(item, at: ";")
            guard let (name, authority) = pair(parts[0]), name == "h3", var service = Self(authority: authority) else {
                continue
            }
            for parameter in parts.dropFirst() {
                if let (name, value) = pair(parameter), name == "ma", let age = Int(value), age >= 0 {
                    service.maximumAge = min(age, longestAge)
                }
            }
            return .service(service)
        }
        return .none
    }

    /// - Parameter authority: `host:port` or `:port`.
    private init?(authority: Substring) {
        guard let colon = authority.lastIndex(of: ":"),
            let port = UInt16(authority[authority.index(after: colon)...]), port > 0
        else { return nil }
        let host = authority[..<colon]
        // The host reaches libcurl as part of a list whose items colons separate.
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let name = isBracketed ? host.dropFirst().dropLast() : host
        let isValid = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: isBracketed && byte == UInt8(ascii: ":")
            }
        }
        guard isValid else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Splits at a separator outside of quotation marks; never empty.
    private static func split(_ text: some StringProtocol, at separator: Character) -> [Substring] {
        var isQuoted = false
        return Substring(text).split(omittingEmptySubsequences: false) { character in
            if character == "\"" { isQuoted.toggle() }
            return character == separator && !isQuoted
        }
    }

    /// The name and the value, without quotation marks, of `name=value`.
    private static func pair(_ text: Substring) -> (name: Substring, value: Substring)? {
        guard let equals = text.firstIndex(of: "=") else { return nil }
        let name = trimmed(text[..<equals])
        var value = trimmed(text[text.index(after: equals)...])
        if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") { value = value.dropFirst().dropLast() }
        return (name, value)
    }

    private static func trimmed(_ part: Substring) -> Substring {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var part = part.drop(while: isBlank)
        while let last = part.last, isBlank(last) { part.removeLast() }
        return part
    }
}
