/// The header fields of the newest response of a transfer: those of an informational one before it are forgotten.
struct ResponseHeaders {
    private(set) var status = 0
    /// By name in lower case; lines of the same name joined by commas (RFC 9110, 5.3).
    private(set) var fields: [String: String] = [:]

    subscript(name: String) -> String? { fields[name] }

    mutating func add(line: String) {
        if line.hasPrefix("HTTP/") {
            fields = [:]
            let parts = line.split(separator: " ", maxSplits: 2)
            status = parts.count > 1 ? Int(parts[1].prefix(3)) ?? 0 : 0
            return
        }
        guard let colon = line.firstIndex(of: ":") else { return }
        let value = line[line.index(after: colon)...].drop(while: \.isWhitespace)
        let end = value.lastIndex { !$0.isWhitespace }.map { value.index(after: $0) } ?? value.startIndex
        let name = line[..<colon].lowercased()
        let text = String(value[..<end])
        fields[name] = fields[name].map { "\($0), \(text)" } ?? text
    }
}
