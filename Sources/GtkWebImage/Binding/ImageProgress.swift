public import Observation

/// How far the load of a widget is. Main thread only; observable.
@MainActor
@Observable
public final class ImageProgress {
    /// Bytes that are there.
    public private(set) var received: Int64 = 0
    /// Bytes that come in all; nil while that is not known.
    public private(set) var expected: Int64?
    /// Whether the image is there, wherever it came from.
    public private(set) var isFinished = false

    init() {}

    /// How much is there, from 0 to 1: 0 while that is not known.
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
