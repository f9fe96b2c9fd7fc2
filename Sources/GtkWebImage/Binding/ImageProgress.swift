public import Observation

/// The progress of the load of a widget, for observation on the main thread.
@MainActor
@Observable
public final class ImageProgress {
    /// The bytes that have arrived.
    public private(set) var received: Int64 = 0
    /// The bytes of the whole file; `nil` while the size is unknown.
    public private(set) var expected: Int64?
    /// Whether the image has loaded, from a cache or from its loader.
    public private(set) var isFinished = false

    init() {}

    /// The share that has arrived, from 0 to 1; 0 while the size is unknown.
    public var fraction: Double {
        if isFinished { return 1 }
        guard let expected, expected > 0 else { return 0 }
        return min(Double(received) / Double(expected), 1)
    }

    func reset() {
        (received, expected, isFinished) = (0, nil, false)
    }

    func set(_ received: Int64, _ expected: Int64?) {
        (self.received, self.expected) = (received, expected)
    }

    func finish() {
        isFinished = true
    }
}
