/// The retries of a load or refinement that failed for a temporary reason. Pauses grow, even if it also fails in
/// between because the widget is shown or its image is set.
@MainActor
struct LaterRetry {
    private static let pauses = (first: Duration.seconds(10), longest: Duration.seconds(640))

    private var call: DelayedCall?
    private var pause = Self.pauses.first

    mutating func schedule(_ body: @escaping () -> Void) {
        // Cancelling a call that is over does nothing.
        call?.cancel()
        call = DelayedCall(after: pause, body)
        pause = min(pause * 2, Self.pauses.longest)
    }

    /// Ends the wait, because the image has loaded or is no longer wanted.
    mutating func cancel() {
        call?.cancel()
        self = LaterRetry()
    }
}
