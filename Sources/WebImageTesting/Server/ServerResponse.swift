public import FoundationEssentials

/// What the server answers.
public struct ServerResponse: Sendable {
    /// The status code.
    public var status: Int
    /// Headers beside Content-Length and Connection, which the server writes.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: Data
    /// What goes wrong, or slowly, on the way. Default: nothing.
    public var faults: ServerFaults

    /// Makes a response.
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

    /// 200 with a body.
    public static func ok(_ body: Data, contentType: String) -> ServerResponse {
        ServerResponse(status: 200, headers: [("Content-Type", contentType)], body: body)
    }

    /// 404 with a page in HTML, as servers send it.
    public static var notFound: ServerResponse { status(404) }

    /// A status with a short page in HTML.
    public static func status(_ status: Int) -> ServerResponse {
        let page = "<!DOCTYPE html><html><title>\(status)</title><h1>\(status)</h1></html>\n"
        return ServerResponse(status: status, headers: [("Content-Type", "text/html")], body: Data(page.utf8))
    }

    /// 302 to another URL or path.
    public static func redirect(to location: String, body: Data = Data()) -> ServerResponse {
        ServerResponse(status: 302, headers: [("Location", location)], body: body)
    }

    /// A file with the media type of its extension; 404 when it cannot be read.
    public static func file(_ path: String) -> ServerResponse {
        guard let body = try? Data(contentsOf: URL(filePath: path)) else { return .notFound }
        let types = [
            "jpg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp", "svg": "image/svg+xml",
        ]
        let type = path.split(separator: ".").last.flatMap { types[$0.lowercased()] }
        return .ok(body, contentType: type ?? "application/octet-stream")
    }
}
