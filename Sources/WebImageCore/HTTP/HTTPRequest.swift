public import FoundationEssentials

/// A request as it is about to be sent.
public struct HTTPRequest: Sendable {
    /// Where it goes.
    public var url: URL
    /// Default: GET.
    public var method: String
    /// All header fields that the library sets.
    public var headers: [String: String]
    /// Sent along, for methods that have a body. Default: none.
    public var body: Data?

    /// Makes a request.
    public init(url: URL, method: String = "GET", headers: [String: String] = [:], body: Data? = nil) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
    }
}
