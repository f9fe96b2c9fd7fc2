package import FoundationEssentials

/// Whether a stored response may be used without asking the server (RFC 9111, 4.2).
package struct Freshness {
    package let directives: CacheDirectives
    /// Seconds since the server made the response (RFC 9111, 4.2.3).
    package let age: Double
    /// Seconds for which it is good; nil when the server says nothing at all, which is taken as for ever: the limits
    /// of the cache end it.
    package let lifetime: Double?

    package init(_ metadata: ResponseMetadata, now: Date) {
        directives = CacheDirectives(metadata.cacheControl)
        age = Self.age(metadata, now: now)
        lifetime = Self.lifetime(metadata, directives)
    }

    package var isFresh: Bool {
        guard !directives.isNoCache else { return false }
        return lifetime.map { age < $0 } ?? true
    }

    /// Whether it may be shown although it is not fresh, while the server is asked (RFC 5861, 3).
    package var isUsableWhileRevalidating: Bool {
        !directives.isNoCache && !directives.mustRevalidate && staleness < directives.staleWhileRevalidate ?? 0
    }

    /// Whether it may be shown when the server could not be asked, or had an error of its own (RFC 5861, 4). A server
    /// that does not say for how long gets no limit: an old image serves better than none (RFC 9111, 4.2.4).
    package func isUsable(despite error: ImageError) -> Bool {
        guard error.isTransient else { return false }
        if isFresh { return true }
        guard !directives.isNoCache, !directives.mustRevalidate else { return false }
        return directives.staleIfError.map { staleness < $0 } ?? true
    }

    /// Seconds since it ceased to be fresh.
    private var staleness: Double { lifetime.map { age - $0 } ?? 0 }

    private static func age(_ metadata: ResponseMetadata, now: Date) -> Double {
        guard let responseTime = metadata.responseTime else { return 0 }
        let apparent = metadata.date.map { max(0, responseTime.timeIntervalSince($0)) } ?? 0
        let delay = metadata.requestTime.map { max(0, responseTime.timeIntervalSince($0)) } ?? 0
        let initial = max(apparent, (metadata.age ?? 0) + delay)
        // A clock that was set back must not make a response younger than it was.
        return initial + max(0, now.timeIntervalSince(responseTime))
    }

    private static func lifetime(_ metadata: ResponseMetadata, _ directives: CacheDirectives) -> Double? {
        if let maxAge = directives.maxAge { return maxAge }
        guard let start = metadata.date ?? metadata.responseTime else { return nil }
        if let expires = metadata.expires { return max(0, expires.timeIntervalSince(start)) }
        // RFC 9111, 4.2.2: what has not changed for long will not change soon.
        return metadata.lastModifiedDate.map { max(0, start.timeIntervalSince($0) / 10) }
    }
}
