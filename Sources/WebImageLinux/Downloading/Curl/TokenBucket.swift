import WebImageCore

/// The token bucket of a rate limit. A transfer takes a token when it starts; the bucket refills with time.
struct TokenBucket {
    let limit: ImageDownloader.RateLimit
    private var tokens: Double
    private var lastFill: ContinuousClock.Instant

    init(_ limit: ImageDownloader.RateLimit, now: ContinuousClock.Instant) {
        self.limit = limit
        (tokens, lastFill) = (Double(limit.burst), now)
    }

    /// Takes a token.
    /// - Returns: `nil` if there was a token, else the time until there will be one.
    mutating func take(now: ContinuousClock.Instant) -> Duration? {
        tokens = min(tokens + (now - lastFill) / .seconds(1) * limit.perSecond, Double(limit.burst))
        lastFill = now
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
}
