/// How the partial images of a load with ``ImageRequest/Loading/progressive`` are made.
public struct ProgressiveOptions: Hashable, Sendable {
    /// The shortest time between two partial images. The first one comes at once. Default: 0.1 seconds.
    public var interval: Duration
    /// Whether partial images are blurred, and less so as more of the file arrives. Arriving animations are not
    /// blurred. Default: no.
    public var isBlurred: Bool

    /// Creates options. Default: a partial image every 0.1 seconds, not blurred.
    public init(interval: Duration = .milliseconds(100), isBlurred: Bool = false) {
        self.interval = interval
        self.isBlurred = isBlurred
    }
}
