public import FoundationEssentials

/// The head of an HTTP response: everything but its body.
///
/// It is available as ``LoadResponse/head`` and ``ImageError/head``. Modifiers and handlers of the downloader see it
/// before the body is read.
public struct ResponseHead: Sendable, Hashable {
    /// The URL that answered: the last one, after redirects and modifiers.
    public var url: URL
    /// The status code.
    public var status: Int
    /// The header fields by lower-case name. The values of repeated fields are joined by commas (RFC 9110, 5.3).
    public var headers: [String: String]

    /// Creates a head, for your own loaders and tests.
    /// - Parameters:
    ///   - url: The URL that answered.
    ///   - status: The status code.
    ///   - headers: The header fields by lower-case name. Default: none.
    public init(url: URL, status: Int, headers: [String: String] = [:]) {
        self.url = url
        self.status = status
        self.headers = headers
    }
}

extension ResponseHead: CustomStringConvertible {
    /// The status and the names of the header fields. Values, such as cookies, and the URL may contain secrets.
    public var description: String {
        let names = headers.keys.sorted().joined(separator: ", ")
        return "\(status) <\(url.textForMessages)>\(names.isEmpty ? "" : " (\(names))")"
    }
}
