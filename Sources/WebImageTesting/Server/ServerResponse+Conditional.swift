import FoundationEssentials

extension ServerResponse {
    /// Returns the response of a server that supports conditional and range requests (RFC 9110, sections 13 and 14): 304
    /// if the client has the current version, 206 for a range, 416 for an invalid range. Validators are the ETag and
    /// Last-Modified headers of this response; dates are compared as text.
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
        let ends = range.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard ends.count == 2, let start = ends[0], start < body.count else {
            return ServerResponse(status: 416, headers: [("Content-Range", "bytes */\(body.count)")])
        }
        let end = min(ends[1] ?? body.count - 1, body.count - 1)
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
