/// The time that animations go by, and calls at a time; tests turn it by hand.
@MainActor
package protocol PlaybackClock: AnyObject {
    /// In seconds, of some clock that never stands still.
    var now: Double { get }

    /// Calls `body` at a time, once, unless it is cancelled.
    /// - Returns: Cancels it when it is called.
    func call(at time: Double, _ body: @escaping @MainActor () -> Void) -> @MainActor () -> Void
}
