import FoundationEssentials

/// The freshness of a stored response: whether it may be used without revalidation (RFC 9111, 4.2).
struct Freshness {
    let directives: CacheDirectives
    /// The seconds since the server generated the response (RFC 9111, 4.2.3).
    let age: Double
    /// The seconds for which the response is fresh; `nil` if the server says nothing, so that only the limits of the
    /// cache remove it.
    let lifetime: Double?

    /// Whether the app has set the lifetime instead of the server.
    private let isOwn: Bool

    init(_ metadata: ResponseMetadata, now: Date) {
        let directives = CacheDirectives(metadata.cacheControl)
        let lifetime = metadata.ownLifetime ?? Self.lifetime(metadata, directives)
        isOwn = metadata.ownLifetime != nil
        age = isOwn ? Self.ownAge(metadata, now: now) : Self.age(metadata, now: now)
        guard let redirects = metadata.redirects, !isOwn, age < .infinity else {
            (self.directives, self.lifetime) = (directives, lifetime)
            return
        }
        let limits = CacheDirectives(redirects.control)
        let elapsed = metadata.responseTime.map { max(0, now.timeIntervalSince($0)) } ?? 0
        let own = DatedDirectives(directives, remaining: lifetime.map { [age] in $0 - age } ?? .infinity)
        let all = own.limited(by: DatedDirectives(limits, remaining: limits.maxAge.map { $0 - elapsed } ?? .infinity))
        self.directives = all.directives
        self.lifetime = all.remaining < .infinity ? all.remaining + age : nil
    }

    var isFresh: Bool {
        guard isOwn || !directives.isNoCache else { return false }
        return lifetime.map { age < $0 } ?? true
    }

    /// The time at which the response becomes stale, in seconds from now: infinity if it always stays fresh, negative
    /// if it is already stale.
    var remaining: Double {
        guard isOwn || !directives.isNoCache else { return -.infinity }
        return lifetime.map { $0 - age } ?? .infinity
    }

    /// Whether the stale response may be shown while it is being revalidated (RFC 5861, 3).
    var isUsableWhileRevalidating: Bool {
        !directives.isNoCache && !directives.mustRevalidate && staleness < directives.staleWhileRevalidate ?? 0
    }

    /// Whether the stale response may be shown if revalidation fails because of the network or the server (RFC 5861,
    /// 4). There is no limit unless the server sets one: an old image is better than no image (RFC 9111, 4.2.4).
    func isUsable(despite error: ImageError) -> Bool {
        error.leavesCachedImage && remainingDespiteErrors > 0
    }

    /// How long the response may be shown while the network or the server fails, in seconds from now.
    var remainingDespiteErrors: Double {
        guard !directives.isNoCache, !directives.mustRevalidate else { return remaining }
        return directives.staleIfError.map { remaining + max($0, 0) } ?? .infinity
    }

    /// The seconds since the response became stale.
    private var staleness: Double { lifetime.map { age - $0 } ?? 0 }

    private static func age(_ metadata: ResponseMetadata, now: Date) -> Double {
        guard let responseTime = metadata.responseTime else { return 0 }
        let apparent = metadata.date.map { max(0, responseTime.timeIntervalSince($0)) } ?? 0
        let delay = metadata.requestTime.map { max(0, responseTime.timeIntervalSince($0)) } ?? 0
        let initial = max(apparent, (metadata.age ?? 0) + delay)
        let residence = now.timeIntervalSince(responseTime)
        // The response was stored while the clock was wrong, and the clock was set back since. Its age is unknown, and
        // it would stay fresh until the clock reaches that time again, which may take years.
        guard residence >= -clockTolerance else { return .infinity }
        return initial + max(0, residence)
    }

    /// The seconds since the response arrived. If the clock was set back by more than the lifetime, the response counts as stale.
    private static func ownAge(_ metadata: ResponseMetadata, now: Date) -> Double {
        metadata.responseTime.map { abs(now.timeIntervalSince($0)) } ?? 0
    }

    /// The seconds by which a clock may be set back without effect. They include a time zone, because a machine that
    /// also runs another system may start with the wrong one.
    private static let clockTolerance = 86_400.0

    private static func lifetime(_ metadata: ResponseMetadata, _ directives: CacheDirectives) -> Double? {
        if let maxAge = directives.maxAge { return maxAge }
        guard let start = metadata.date ?? metadata.responseTime else { return nil }
        if let expires = metadata.expires { return max(0, expires.timeIntervalSince(start)) }
        // Heuristic freshness: a tenth of the time since the last change (RFC 9111, 4.2.2), at most a week as in browsers.
        return metadata.lastModifiedDate.map { min(max(0, start.timeIntervalSince($0) / 10), 604_800) }
    }
}

// Images in memory.
extension ResponseMetadata {
    /// When an image in memory becomes stale, and until when it may be shown while its server is unreachable, in seconds since 1970.
    func limitsInMemory(_ now: Date) -> (staleTime: Double, servingLimit: Double) {
        let saysNothing =
            cacheControl == nil && expires == nil && lastModifiedDate == nil && redirects == nil && !variesByAll
        guard !saysNothing || ownLifetime != nil else { return (.infinity, .infinity) }
        let (freshness, seconds) = (Freshness(self, now: now), now.timeIntervalSince1970)
        var remaining = freshness.remaining
        if ownLifetime == nil {
            // A response time in the future means that the clock was set back.
            let rest = Self.shortestUse - max(responseTime.map { now.timeIntervalSince($0) } ?? 0, 0)
            let isOnce = freshness.directives.isNoStore || variesByAll
            if isOnce { remaining = rest } else if redirects != nil { remaining = max(remaining, rest) }
        }
        return (seconds + remaining, seconds + freshness.remainingDespiteErrors)
    }

    /// Whether the response answers no other request (`Vary: *`; RFC 9110, section 12.5.5).
    private var variesByAll: Bool { vary?["*"] != nil || redirects?.vary?["*"] != nil }

    /// The seconds after a response for which its image may be used in any case. A response with no-store cannot be validated,
    /// and following a redirect again takes two requests: a list that scrolls back would at once load all such images again.
    private static let shortestUse = 60.0
}
