public import FoundationEssentials
public import WebImageCore

/// Records every step of every load of a manager until it is released.
public final class LoadRecorder: Sendable {
    private let log = EventLog<LoadTraceEvent>()
    private let observation: ObservationToken

    /// Starts recording.
    public init(_ manager: ImageManager) {
        let log = log
        observation = manager.observe { log.add($0) }
    }

    /// All steps so far, in order.
    public var steps: [LoadTraceEvent] { log.all }

    /// The number of times that a loader was called for a URL.
    public func transferCount(of url: URL) -> Int {
        steps.count { step in
            if case .fetchStarted = step.kind { step.url == url } else { false }
        }
    }

    /// Waits until the steps meet a condition. Blocks the thread.
    /// - Returns: Whether the condition was met within 120 seconds.
    @discardableResult
    public func wait(until condition: ([LoadTraceEvent]) -> Bool) -> Bool { log.wait(until: condition) }
}
