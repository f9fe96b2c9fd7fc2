/// When a load or a refinement that has failed for a reason that may pass is tried again: after pauses that grow, however often it
/// fails meanwhile because the widget is shown or its image is set.
@MainActor
struct LaterRetry {
    private static let pauses = (first: Duration.seconds(10), longest: Duration.seconds(640))

    private var call: DelayedCall?
    private var pause = Self.pauses.first

    mutating func schedule(_ body: @escaping () -> Void) {
        // One that is over does nothing when it is cancelled.
        call?.cancel()
        call = DelayedCall(after: pause, body)
        pause = min(pause * 2, Self.pauses.longest)
    }

    /// Ends the wait, since the image is there or is not wanted any more.
    mutating func cancel() {
        call?.cancel()
        self = LaterRetry()
    }
}
