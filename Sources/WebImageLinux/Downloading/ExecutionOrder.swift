/// Which of several transfers of the same priority is started first.
public enum ExecutionOrder: Sendable {
    /// The one that was asked for first.
    case firstInFirstOut
    /// The one that was asked for last.
    case lastInFirstOut
}
