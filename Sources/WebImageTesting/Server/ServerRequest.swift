import Foundation

/// A request as the server got it.
public struct ServerRequest: Sendable {
    /// GET or HEAD, as sent.
    public let method: String
    /// The request target as sent, with its query.
    public let target: String
    /// The path, percent-decoded, without the query.
    public let path: String
    /// The query, percent-decoded; of a name that comes twice the last value.
    public let query: [String: String]
    /// The headers, their names in lower case.
    public let headers: [String: String]
    /// Which connection it came on, counted from 1.
    public let connection: Int

    /// Parses what comes before the empty line.
    /// - Returns: nil when it is no HTTP/1.x request.
    init?(head: String, connection: Int) {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        let parts = lines.first?.split(separator: " ") ?? []
        guard parts.count == 3, parts[2].hasPrefix("HTTP/1.") else { return nil }
        method = String(parts[0])
        target = String(parts[1])
        let pieces = parts[1].split(separator: "?", maxSplits: 1)
        path = pieces.first.flatMap { String($0).removingPercentEncoding } ?? "/"
        var query: [String: String] = [:]
        for pair in pieces.dropFirst().first?.split(separator: "&") ?? [] {
            let sides = pair.split(separator: "=", maxSplits: 1).map {
                String($0).removingPercentEncoding ?? String($0)
            }
            query[sides[0]] = sides.count > 1 ? sides[1] : ""
        }
        self.query = query
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            headers[line[..<colon].lowercased()] = String(value)
        }
        self.headers = headers
        self.connection = connection
    }
}
