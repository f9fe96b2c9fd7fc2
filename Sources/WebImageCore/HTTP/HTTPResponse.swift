public import FoundationEssentials

/// The head of a response.
public struct HTTPResponse: Sendable {
    /// Where it came from, after redirects.
    public var url: URL
    /// The status code.
    public var status: Int
    /// The header fields, their names in lower case; lines of the same name joined by commas.
    public var headers: [String: String]

    /// Makes a response.
    public init(url: URL, status: Int, headers: [String: String] = [:]) {
        self.url = url
        self.status = status
        self.headers = headers
    }
}
