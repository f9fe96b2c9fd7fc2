/// A limit for storms of requests that are cancelled as soon as they are made, as when somebody drags a scroll bar. A
/// transfer that comes to its end costs nothing, so useful work is never held up.
public struct RateLimit: Sendable, Hashable {
    /// Starts per second, in the long run. Default: 80.
    public var perSecond: Double
    /// Starts at once, after a while without any. Default: 25.
    public var burst: Int

    /// Makes a limit.
    public init(perSecond: Double = 80, burst: Int = 25) {
        self.perSecond = max(perSecond, 1)
        self.burst = max(burst, 1)
    }
}
