public import FoundationEssentials

/// A response of the server.
public struct ServerResponse: Sendable {
    /// The status code.
    public var status: Int
    /// The headers, except Content-Length and Connection, which the server adds.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: Data
    /// The faults of the response. Default: none.
    public var faults: ServerFaults

    /// Creates a response.
    public init(
        status: Int,
        headers: [(name: String, value: String)] = [],
        body: Data = Data(),
        faults: ServerFaults = ServerFaults()
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.faults = faults
    }

    /// A response with status 200 and a body.
    public static func ok(_ body: Data, contentType: String) -> ServerResponse {
        ServerResponse(status: 200, headers: [("Content-Type", contentType)], body: body)
    }

    /// A response with status 404 and an HTML page, as from real servers.
    public static var notFound: ServerResponse { status(404) }

    /// A response with any status and a short HTML page.
    public static func status(_ status: Int) -> ServerResponse {
        let page = "<!DOCTYPE html><html><title>\(status)</title><h1>\(status)</h1></html>\n"
        return ServerResponse(status: status, headers: [("Content-Type", "text/html")], body: Data(page.utf8))
    }

    /// A redirect (302) to another URL or path.
    public static func redirect(to location: String, body: Data = Data()) -> ServerResponse {
        ServerResponse(status: 302, headers: [("Location", location)], body: body)
    }

    /// A response with a file, whose extension determines the media type; 404 if the file cannot be read.
    public static func file(_ path: String) -> ServerResponse {
        guard let body = try? Data(contentsOf: URL(filePath: path)) else { return .notFound }
        let types = [
            "jpg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp", "svg": "image/svg+xml",
        ]
        let type = path.split(separator: ".").last.flatMap { types[$0.lowercased()] }
        return .ok(body, contentType: type ?? "application/octet-stream")
    }
}

extension ServerResponse {
    /// The response of a server that supports conditional and range requests (RFC 9110, sections 13 and 14): 304 if the client has
    /// the current version, 206 for a range, 416 for a range beyond the end. Validators are the ETag and Last-Modified headers of this
    /// response. Dates are compared as text.
    public func conditional(on request: ServerRequest) -> ServerResponse {
        guard status == 200 else { return self }
        let (etag, date) = (header("etag"), header("last-modified"))
        if let known = request.headers["if-none-match"] {
            if let etag, known == "*" || known.contains(etag) { return notModified }
        } else if let known = request.headers["if-modified-since"], known == date {
            return notModified
        }
        guard let range = request.headers["range"], range.hasPrefix("bytes=") else { return self }
        if let condition = request.headers["if-range"], condition != etag, condition != date { return self }
        return part(range.dropFirst(6))
    }

    private var notModified: ServerResponse {
        ServerResponse(status: 304, headers: headers, faults: faults)
    }

    private func part(_ range: Substring) -> ServerResponse {
        let texts = range.split(separator: "-", omittingEmptySubsequences: false)
        let ends = texts.map { Int($0) }
        // Anything but a single byte range is ignored (RFC 9110, 14.2).
        guard ends.count == 2, zip(texts, ends).allSatisfy({ $0.isEmpty || $1 != nil }), ends[0] ?? ends[1] != nil,
            ends[0] ?? 0 <= ends[1] ?? .max || ends[0] == nil
        else { return self }
        // A range without a first byte gives the number of bytes at the end.
        let start = ends[0] ?? max(body.count - (ends[1] ?? 0), 0)
        guard start < body.count else {
            return ServerResponse(status: 416, headers: [("Content-Range", "bytes */\(body.count)")])
        }
        let end = ends[0] == nil ? body.count - 1 : min(ends[1] ?? body.count - 1, body.count - 1)
        var response = self
        response.status = 206
        response.headers.append(("Content-Range", "bytes \(start)-\(end)/\(body.count)"))
        response.body = Data(body[(body.startIndex + start)...(body.startIndex + end)])
        return response
    }

    private func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name }?.value
    }
}
