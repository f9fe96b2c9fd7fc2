/// How the partial images of a load with ``ImageRequest/Loading/progressive`` are made.
public struct ProgressiveOptions: Hashable, Sendable {
    /// The shortest time between two partial images, of which the first one comes at once. Default: 0.1 seconds.
    public var interval: Duration
    /// Whether partial images are blurred, the less the more of the file has arrived. Animations that arrive are not. Default:
    /// no.
    public var isBlurred: Bool

    /// Creates options. Default: a partial image every 0.1 seconds, as sharp as it is.
    public init(interval: Duration = .milliseconds(100), isBlurred: Bool = false) {
        self.interval = interval
        self.isBlurred = isBlurred
    }
}
