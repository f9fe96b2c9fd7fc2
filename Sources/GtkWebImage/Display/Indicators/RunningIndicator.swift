internal import CWebImageGtk4
import WebImageCore

/// The indicator of a load in progress.
@MainActor
final class RunningIndicator {
    private let indicator: ImageIndicator
    private(set) var isVisible = false
    /// The share of the image that has arrived, from 0 to 1; `nil` while it is unknown.
    var fraction: Double?
    /// The time of the current frame, in seconds.
    var time: Double? {
        didSet { if isVisible, start == nil { start = time } }
    }
    private var start: Double?
    private var timer: DelayedCall?

    init(_ indicator: ImageIndicator) {
        self.indicator = indicator
    }

    /// Starts the delay, after which the indicator becomes visible.
    func start(_ onVisible: @escaping () -> Void) {
        timer = DelayedCall(after: indicator.delay) { [weak self] in
            self?.isVisible = true
            onVisible()
        }
    }

    func stop() {
        timer?.cancel()
    }

    var isAnimated: Bool { isVisible && indicator.style.isAnimated && !ReducedMotion.isRequested }

    func draw(in context: DrawingContext) {
        guard isVisible else { return }
        let gray = GdkRGBA(red: 0.5, green: 0.5, blue: 0.5, alpha: 1)
        let canvas = IndicatorCanvas(context, color: context.widget?.textColor ?? gray)
        let elapsed = isAnimated ? (time ?? 0) - (start ?? time ?? 0) : 0
        indicator.style.draw(on: canvas, fraction: fraction, time: elapsed)
        canvas.finish()
    }
}
