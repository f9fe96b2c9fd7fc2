public import Observation
public import WebImageCore

/// The progress of the load of a widget, for observation on the main thread. One object follows all loads of a widget,
/// including those that start automatically: after a click, when the network is back, or when the widget is shown again.
@preconcurrency @MainActor
@Observable
public final class ImageProgress {
    /// The outcome of the image that was set last.
    public enum State: Sendable {
        /// No image was set, or its load was cancelled.
        case idle
        /// The image is loading, or waits until its widget is shown.
        case loading
        /// The widget has its image.
        case shown
        /// The load has failed.
        case failed(ImageError)
    }

    /// The state of the load.
    public internal(set) var state = State.idle
    /// The bytes of the body so far, after decompression; 0 before the first report and for images from the caches.
    public private(set) var received: Int64 = 0
    /// The length of the body in bytes; `nil` while it is unknown.
    public private(set) var expected: Int64?

    init() {}

    /// The share that has arrived, from 0 to 1; 0 while the length is unknown.
    public var fraction: Double {
        if case .shown = state { return 1 }
        guard let expected, expected > 0 else { return 0 }
        return min(Double(received) / Double(expected), 1)
    }

    func reset(to state: State) {
        (received, expected) = (0, nil)
        self.state = state
    }

    func set(_ received: Int64, _ expected: Int64?) {
        (self.received, self.expected) = (received, expected)
    }

    func end(with error: ImageError) {
        state = error.isCancelled ? .idle : .failed(error)
    }
}
