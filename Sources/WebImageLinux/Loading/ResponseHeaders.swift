/// The headers of the newest response of a transfer: those of redirects before it are forgotten.
struct ResponseHeaders {
    private(set) var status = 0
    private var fields: [String: String] = [:]

    /// The last value of a field; the name in lower case.
    subscript(name: String) -> String? { fields[name] }

    /// The number of bytes that will come, where the server says so and they come as they are.
    var bodyLength: Int64? {
        guard fields["content-encoding"] == nil else { return nil }
        return fields["content-length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

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
        fields[line[..<colon].lowercased()] = String(value[..<end])
    }
}
