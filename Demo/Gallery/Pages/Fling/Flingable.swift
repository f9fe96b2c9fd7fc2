/// The content of a page that scrolls by itself and measures it.
@MainActor
protocol Flingable: AnyObject {
    /// Flings for so many seconds.
    /// - Returns: What was measured, a value a line; `nil` when the page was left before the end.
    func report(flinging seconds: Double) async -> String?
}
