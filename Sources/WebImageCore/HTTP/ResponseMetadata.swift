public import FoundationEssentials

/// The part of a response's head that decides whether its body may be reused (RFC 9111).
public struct ResponseMetadata: Codable, Hashable, Sendable {
    /// The validators that identify one version of a resource (RFC 9110, 8.8).
    public struct Validators: Hashable, Sendable {
        /// The ETag field, with its quotes.
        public var etag: String?
        /// The Last-Modified field as received.
        public var lastModified: String?
        /// The redirects that led to the resource; `nil` if there were none.
        package var redirects: Redirects?

        /// Creates validators.
        package init(etag: String?, lastModified: String?) {
            self.etag = etag
            self.lastModified = lastModified
        }
    }

    /// The Content-Type field as received.
    public var contentType: String?
    /// The ETag field, with its quotes.
    public var etag: String?
    /// The Last-Modified field as received.
    public var lastModified: String?
    /// The Last-Modified field as a date; `nil` if it cannot be parsed.
    package var lastModifiedDate: Date?
    /// The Cache-Control field; repeated fields are joined by commas.
    public var cacheControl: String?
    /// The Expires field; a value that is not a date counts as the distant past (RFC 9111, 5.3).
    public var expires: Date?
    /// The Date field: when the server generated the response.
    package var date: Date?
    /// The Age field in seconds: how long caches on the way held the response.
    package var age: Double?
    /// The lower-case names of the fields in Vary, each with a salted hash of its value in the request. `*` means any
    /// field.
    package var vary: [String: String]?
    /// The time at which the request was sent.
    package var requestTime: Date?
    /// The time at which the response arrived.
    package var responseTime: Date?
    /// The metadata of the redirects that led to the response; `nil` if there were none.
    package var redirects: Redirects?
    /// The seconds for which the app considers the response fresh, overriding its fields.
    var ownLifetime: Double?

    /// Creates metadata without any field except the content type.
    public init(contentType: String? = nil) {
        self.contentType = contentType
    }

    /// The validators for a conditional request; `nil` if the response had none.
    package var validators: Validators? {
        guard etag != nil || lastModified != nil else { return nil }
        var validators = Validators(etag: etag, lastModified: lastModified)
        validators.redirects = redirects
        return validators
    }

    /// Lists the fields for the disk cache.
    mutating func code(_ coder: inout MessageCoder) throws(MessageCoder.Malformed) {
        try coder.code(&contentType)
        try coder.code(&etag)
        try coder.code(&lastModified)
        try coder.code(&lastModifiedDate)
        try coder.code(&cacheControl)
        try coder.code(&expires)
        try coder.code(&date)
        try coder.code(&age)
        try coder.code(&vary)
        try coder.code(&requestTime)
        try coder.code(&responseTime)
        try coder.code(presenceOf: &redirects, or: Redirects())
        try redirects?.code(&coder)
        try coder.code(&ownLifetime)
    }
}

extension ResponseMetadata.Validators? {
    /// Whether both belong to the same version, regardless of redirects.
    func areSame(as other: Self) -> Bool {
        self?.etag == other?.etag && self?.lastModified == other?.lastModified
    }

    /// Whether a 304 with this ETag is about another version than the one asked about (RFC 9111, section 4.3.4), weak or not.
    func contradict(_ etag: String?) -> Bool {
        guard let asked = self?.etag, let etag else { return false }
        return asked.trimmingPrefix("W/") != etag.trimmingPrefix("W/")
    }
}

extension ResponseMetadata {
    /// Returns this metadata updated by a 304 response, whose fields replace the stored ones (RFC 9111, section 3.2).
    package func renewed(by newer: ResponseMetadata) -> ResponseMetadata {
        var result = self
        result.etag = newer.etag ?? etag
        result.lastModified = newer.lastModified ?? lastModified
        result.lastModifiedDate = newer.lastModifiedDate ?? lastModifiedDate
        result.cacheControl = newer.cacheControl ?? cacheControl
        result.expires = newer.expires ?? expires
        result.vary = newer.vary ?? vary
        result.redirects = newer.redirects
        // The age is that of the new response, even if it does not repeat these fields.
        result.date = newer.date
        result.age = newer.age
        result.requestTime = newer.requestTime
        result.responseTime = newer.responseTime
        result.ownLifetime = newer.ownLifetime ?? ownLifetime
        return result
    }

    /// Returns this metadata with the lifetime that the app has set, if any.
    /// - Parameter time: When the lifetime starts if the arrival time of the response is not known.
    func living(for lifetime: Duration?, from time: Date) -> ResponseMetadata {
        guard lifetime != nil || ownLifetime != nil else { return self }
        var result = self
        if let lifetime { result.ownLifetime = lifetime.bounded / .seconds(1) }
        if responseTime == nil { result.responseTime = time }
        return result
    }

    /// The end of the lifetime that the app has set, in seconds since 1970; `nil` if there is none.
    var ownEnd: Double? {
        guard let ownLifetime, let responseTime else { return nil }
        return responseTime.timeIntervalSince1970 + ownLifetime
    }

    /// Whether the header fields in Vary have the values of the original request (RFC 9111, 4.1).
    /// - Parameter late: The fields that become known only when the request is sent.
    /// - Returns: `nil` if it depends on such a field.
    func isAnswer(to headers: [String: String], lacking late: LateFields = .none) -> Bool? {
        let vary = (redirects?.vary ?? [:]).merging(self.vary ?? [:]) { _, own in own }
        guard !vary.isEmpty else { return true }
        guard vary["*"] == nil else { return false }
        let now = headers.fieldsByLowercasedName
        let known = vary.filter { !late.contain($0.key) }
        guard known.allSatisfy({ VaryingField.isText($0.value, of: now[$0.key] ?? "") }) else { return false }
        return known.count == vary.count ? true : nil
    }
}
