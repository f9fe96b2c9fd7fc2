import WebImageCore

/// The token bucket of a rate limit. A transfer takes a token when it starts; the bucket refills with time.
struct TokenBucket {
    private let limit: ImageDownloader.RateLimit
    private var tokens: Double
    private var lastFill: ContinuousClock.Instant

    init(_ limit: ImageDownloader.RateLimit, now: ContinuousClock.Instant) {
        // The properties may have been set to values that the initializer does not accept.
        self.limit = ImageDownloader.RateLimit(perSecond: limit.perSecond, burst: limit.burst)
        tokens = Double(self.limit.burst)
        lastFill = now
    }

    /// Takes a token.
    /// - Returns: `nil` if there was a token, else the time until there will be one.
    mutating func take(now: ContinuousClock.Instant) -> Duration? {
        fill(now)
        guard tokens < 1 else {
            tokens -= 1
            return nil
        }
        return .bounded(seconds: (1 - tokens) / limit.perSecond)
    }

    /// Returns the token of a transfer that was not cancelled.
    mutating func giveBack() {
        tokens = min(tokens + 1, Double(limit.burst))
    }

    private mutating func fill(_ now: ContinuousClock.Instant) {
        tokens = min(tokens + (now - lastFill) / .seconds(1) * limit.perSecond, Double(limit.burst))
        lastFill = now
    }
}
