public import FoundationEssentials
public import WebImageCore

/// Writes down every step of every load of a manager, as long as it is kept.
public final class LoadRecorder: Sendable {
    private let log = EventLog<LoadTraceEvent>()
    private let observation: any AnyObject & Sendable

    /// Begins to write.
    public init(_ manager: ImageManager) {
        let log = log
        observation = manager.observe { log.add($0) }
    }

    /// All steps so far, in order.
    public var steps: [LoadTraceEvent] { log.all }

    /// How often a loader was asked for url.
    public func transferCount(of url: URL) -> Int {
        steps.count { step in
            if case .started = step.kind { step.url == url } else { false }
        }
    }

    /// Waits until a condition holds. Blocks the thread.
    /// - Returns: Whether it does, within twenty seconds.
    @discardableResult
    public func wait(until condition: ([LoadTraceEvent]) -> Bool) -> Bool { log.wait(until: condition) }
}
