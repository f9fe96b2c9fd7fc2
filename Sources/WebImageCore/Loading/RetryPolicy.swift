/// When a load that failed is tried again.
public struct RetryPolicy: Sendable {
    /// How often, after the first try. Default: 2.
    public var maximumCount = 2
    /// The pause before the first retry. Default: half a second.
    public var initialDelay = Duration.milliseconds(500)
    /// By how much each pause is longer than the one before. Default: 2.
    public var multiplier = 2.0
    /// The longest pause. A server that asks for a longer one (Retry-After) is not asked again. Default: 30 seconds.
    public var maximumDelay = Duration.seconds(30)
    /// Which share of a pause is left to chance, 0 to 1, so that many clients do not come back at the same moment.
    /// Default: 0.5.
    public var jitter = 0.5
    /// How long a load that fails because the machine is offline waits for the network. Default: not at all; it fails
    /// at once.
    public var offlineWait = Duration.zero
    /// Whether a failure may pass. Default: no connection, a broken one, timeouts, and the statuses 408, 429 and 500 to
    /// 599 without 501 and 505.
    public var shouldRetry: @Sendable (ImageError) -> Bool = { $0.isTransient }

    /// Makes a policy of defaults.
    public init() {}

    /// Never again.
    public static var never: RetryPolicy {
        var policy = RetryPolicy()
        policy.maximumCount = 0
        return policy
    }

    /// The pause before the next try.
    /// - Parameters:
    ///   - attempt: Tries so far, from 1.
    ///   - chance: 0 to 1.
    /// - Returns: nil when there is none.
    package func delay(after error: ImageError, attempt: Int, chance: Double) -> Duration? {
        guard attempt <= maximumCount, shouldRetry(error) else { return nil }
        if let asked = error.retryAfter { return asked <= maximumDelay ? asked : nil }
        var delay = initialDelay
        for _ in 1..<max(attempt, 1) where delay < maximumDelay { delay = delay * multiplier }
        let whole = min(delay, maximumDelay)
        return whole * (1 - min(max(jitter, 0), 1) * chance)
    }
}
