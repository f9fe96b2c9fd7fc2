internal import CWebImageGtk4
import WebImageCore

/// An indicator of a load under way.
@MainActor
final class RunningIndicator {
    private let indicator: ImageIndicator
    private(set) var isVisible = false
    var fraction: Double?
    /// Of the newest frame, in seconds.
    var time: Double? {
        didSet { if isVisible, start == nil { start = time } }
    }
    private var start: Double?
    private var timer: DelayedCall?

    init(_ indicator: ImageIndicator) {
        self.indicator = indicator
    }

    /// Shows it after its delay.
    func start(_ onVisible: @escaping () -> Void) {
        timer = DelayedCall(after: indicator.delay) { [weak self] in
            self?.isVisible = true
            onVisible()
        }
    }

    func stop() {
        timer?.cancel()
    }

    var isMoving: Bool { isVisible && indicator.style.isMoving && ReducedMotion.isWanted }

    func draw(
        _ snapshot: OpaquePointer,
        _ width: Double,
        _ height: Double,
        _ widget: UnsafeMutablePointer<GtkWidget>?
    ) {
        guard isVisible else { return }
        let gray = GdkRGBA(red: 0.5, green: 0.5, blue: 0.5, alpha: 1)
        let canvas = IndicatorCanvas(snapshot, width, height, widget?.textColor ?? gray)
        let elapsed = isMoving ? (time ?? 0) - (start ?? time ?? 0) : 0
        indicator.style.draw(on: canvas, fraction: fraction, time: elapsed)
        canvas.finish()
    }
}
