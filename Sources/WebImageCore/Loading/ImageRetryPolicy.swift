/// When a failed load is retried: with exponential backoff and jitter.
public struct ImageRetryPolicy: Sendable {
    /// The number of retries after the first attempt. Default: 2.
    public var maximumCount = 2
    /// The delay before the first retry. Default: 0.5 seconds.
    public var initialDelay = Duration.milliseconds(500)
    /// The factor from each delay to the next. Default: 2.
    public var multiplier = 2.0
    /// The longest delay. A load is not retried if the server asks for a longer one (Retry-After). Default: 30 seconds.
    public var maximumDelay = Duration.seconds(30)
    /// The random share of a delay, 0 to 1, which keeps many clients from retrying at the same moment. Default: 0.5.
    public var jitter = 0.5
    /// How long a load waits for the network if the machine is offline. Default: zero, so it fails after one quick
    /// attempt.
    public var offlineWait = Duration.zero
    /// Whether a load is retried after an error. Default: ``ImageError/isTransient``.
    public var shouldRetry: @Sendable (ImageError) -> Bool = { $0.isTransient }

    /// Creates the default policy: two retries of transient errors, after about 0.5 and 1 seconds.
    public init() {}

    /// The policy that never retries: an error ends the load at once.
    public static var never: ImageRetryPolicy {
        var policy = ImageRetryPolicy()
        policy.maximumCount = 0
        return policy
    }

    /// The delay before the next attempt.
    /// - Parameters:
    ///   - attempt: The number of attempts so far, from 1.
    ///   - chance: A random number, 0 to 1.
    /// - Returns: `nil` if the load is not retried.
    package func delay(after error: ImageError, attempt: Int, chance: Double) -> Duration? {
        guard attempt <= maximumCount, shouldRetry(error) else { return nil }
        if let asked = error.retryAfter { return asked <= maximumDelay ? asked : nil }
        let (limit, growth) = (maximumDelay.bounded / .seconds(1), multiplier.bounded(to: 0...1_000_000, ifNaN: 1))
        var delay = initialDelay.bounded / .seconds(1)
        for _ in 1..<min(max(attempt, 1), 1000) where delay < limit { delay *= growth }
        return .bounded(seconds: min(delay, limit) * (1 - jitter.bounded(to: 0...1, ifNaN: 0) * chance))
    }
}
