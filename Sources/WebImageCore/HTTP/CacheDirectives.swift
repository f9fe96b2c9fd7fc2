/// The directives of a `Cache-Control` field that apply to a private cache (RFC 9111, 5.2.2; RFC 5861; RFC 8246).
struct CacheDirectives: Equatable {
    /// The freshness lifetime in seconds. A value that is not a number counts as zero: the response is stale rather
    /// than wrong (RFC 9111, 4.2.1).
    private(set) var maxAge: Double?
    var staleWhileRevalidate: Double?
    var staleIfError: Double?
    var isNoStore = false
    var isNoCache = false
    var mustRevalidate = false
    var isImmutable = false

    init(_ field: String?) {
        guard var field, !field.isEmpty else { return }
        // Every load reads the field several times, and iterating over characters is slow.
        field.withUTF8 { bytes in
            var (start, isQuoted) = (0, false)
            for (index, byte) in bytes.enumerated() {
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                guard byte == UInt8(ascii: ","), !isQuoted else { continue }
                add(bytes[start..<index])
                start = index + 1
            }
            add(bytes[start...])
        }
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private mutating func add(_ directive: Bytes) {
        let equals = directive.firstIndex(of: UInt8(ascii: "=")) ?? directive.endIndex
        let name = String(decoding: Self.trimmed(directive[..<equals]), as: UTF8.self).lowercased()
        let value = equals + 1 < directive.endIndex ? Self.trimmed(directive[(equals + 1)...]) : nil
        switch name {
        // If a directive occurs twice, the first occurrence counts (RFC 9111, 4.2.1).
        case "max-age": maxAge = maxAge ?? Self.seconds(value)
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(value)
        case "stale-if-error": staleIfError = staleIfError ?? Self.seconds(value)
        case "no-store": isNoStore = true
        // A no-cache that names header fields applies to those fields only.
        case "no-cache": isNoCache = isNoCache || value == nil
        case "must-revalidate": mustRevalidate = true
        case "immutable": isImmutable = true
        default: break
        }
    }

    private static func trimmed(_ text: Bytes) -> Bytes {
        func isPadding(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\"")
        }
        guard let first = text.firstIndex(where: { !isPadding($0) }),
            let last = text.lastIndex(where: { !isPadding($0) })
        else { return text[text.endIndex...] }
        return text[first...last]
    }

    private static func seconds(_ text: Bytes?) -> Double {
        guard let text, !text.isEmpty else { return 0 }
        // RFC 9111, 1.2.2: a larger number counts as this one.
        let limit = 2_147_483_648.0
        var number = 0.0
        for byte in text {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return 0 }
            number = min(number * 10 + Double(byte - UInt8(ascii: "0")), limit)
        }
        return number
    }
}
