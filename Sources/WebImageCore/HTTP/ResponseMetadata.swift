public import FoundationEssentials

/// What a server said about the bytes that it sent, as far as it matters for using them again (RFC 9111).
public struct ResponseMetadata: Codable, Hashable, Sendable {
    /// What tells one version of a resource from another (RFC 9110, 8.8).
    public struct Validators: Hashable, Sendable {
        /// ETag, with its quotes.
        public var etag: String?
        /// Last-Modified, as it came.
        public var lastModified: String?

        /// Makes validators.
        public init(etag: String?, lastModified: String?) {
            self.etag = etag
            self.lastModified = lastModified
        }
    }

    /// The media type, as the server gave it.
    public var contentType: String?
    /// ETag, with its quotes.
    public var etag: String?
    /// Last-Modified, as it came.
    public var lastModified: String?
    /// Last-Modified as a date, where it is one.
    public var lastModifiedDate: Date?
    /// Cache-Control; several lines joined by commas.
    public var cacheControl: String?
    /// Expires; one that is no date is the distant past (RFC 9111, 5.3).
    public var expires: Date?
    /// Date: when the server made the response.
    public var date: Date?
    /// Age in seconds: how long caches on the way have kept it.
    public var age: Double?
    /// The header fields that Vary names, in lower case, with what the request had in them; * for any at all.
    public var vary: [String: String]?
    /// When the request was sent.
    public var requestTime: Date?
    /// When the response came.
    public var responseTime: Date?

    /// Makes metadata that says nothing.
    public init(contentType: String? = nil) {
        self.contentType = contentType
    }

    /// What to ask the server with whether it still has the same; nil when it gave nothing for that.
    public var validators: Validators? {
        guard etag != nil || lastModified != nil else { return nil }
        return Validators(etag: etag, lastModified: lastModified)
    }
}

extension ResponseMetadata {
    /// The same, brought up to date by a 304 (RFC 9111, 3.2): what it says anew replaces the old.
    package func renewed(by newer: ResponseMetadata) -> ResponseMetadata {
        var result = self
        result.etag = newer.etag ?? etag
        result.lastModified = newer.lastModified ?? lastModified
        result.lastModifiedDate = newer.lastModifiedDate ?? lastModifiedDate
        result.cacheControl = newer.cacheControl ?? cacheControl
        result.expires = newer.expires ?? expires
        result.vary = newer.vary ?? vary
        // Those count from the new response, whatever the old one said.
        result.date = newer.date
        result.age = newer.age
        result.requestTime = newer.requestTime
        result.responseTime = newer.responseTime
        return result
    }
}
