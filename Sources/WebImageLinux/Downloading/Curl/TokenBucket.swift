/// The bookkeeping of a ImageDownloader.RateLimit: a bucket of tokens that fills by itself. Whoever starts something takes one.
struct TokenBucket {
    private let limit: ImageDownloader.RateLimit
    private var tokens: Double
    private var last: ContinuousClock.Instant

    init(_ limit: ImageDownloader.RateLimit, now: ContinuousClock.Instant) {
        self.limit = limit
        tokens = Double(limit.burst)
        last = now
    }

    /// Takes a token.
    /// - Returns: How long to wait when there is none.
    mutating func take(now: ContinuousClock.Instant) -> Duration? {
        fill(now)
        guard tokens < 1 else {
            tokens -= 1
            return nil
        }
        return .seconds((1 - tokens) / limit.perSecond)
    }

    /// For what came to a good end.
    mutating func giveBack() {
        tokens = min(tokens + 1, Double(limit.burst))
    }

    private mutating func fill(_ now: ContinuousClock.Instant) {
        tokens = min(tokens + (now - last) / .seconds(1) * limit.perSecond, Double(limit.burst))
        last = now
    }
}
