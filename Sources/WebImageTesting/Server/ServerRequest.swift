import Foundation

/// A request that the server has received.
public struct ServerRequest: Sendable {
    /// The method, such as GET or HEAD.
    public let method: String
    /// The request target as sent, including the query.
    package let target: String
    /// The percent-decoded path, without the query.
    public let path: String
    /// The percent-decoded query. The last value of a repeated name counts.
    public let query: [String: String]
    /// The headers, with lowercase names.
    public let headers: [String: String]
    /// The number of the connection, counted from 1.
    package let connection: Int

    /// Parses the request line and the headers.
    /// - Returns: `nil` if this is not an HTTP/1.x request.
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
            // A pair without a name, as in ?=1, is skipped.
            if let name = sides.first, !pair.hasPrefix("=") { query[name] = sides.count > 1 ? sides[1] : "" }
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
