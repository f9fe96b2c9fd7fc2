internal import CWebImageGtk4
internal import CWebImageGtkShims
import WebImageCore
import WebImageLinux

/// What a GwiPaintable draws: an image or what stands for it, the way from one to the next, an indicator. The GObject
/// owns it.
@MainActor
final class PaintableContent {
    /// The GObject, which outlives this.
    private(set) var native = OpaquePointer(bitPattern: 1)!
    private(set) var shown = DisplayedContent.nothing
    private var transition: RunningTransition?
    private var indicator: RunningIndicator?
    private var observation: PaintableObservation?
    private var ticker: FrameTicker?
    /// The intrinsic size in application pixels; 0: none.
    private var size = (width: 0.0, height: 0.0)

    /// Told the size in application pixels at which an image is drawn, within GTK's snapshot: it must change nothing.
    var onDraw: ((_ width: Double, _ height: Double) -> Void)?
    /// The widget whose frames and colour of text count, if there still is one.
    var styleWidget: (() -> UnsafeMutablePointer<GtkWidget>?)?

    /// Whether what is shown has a say in the size of the widget; a background has none.
    var hasSize = true

    init() {
        native = gwi_paintable_new(PaintableCallbacks.table, Unmanaged.passRetained(self).toOpaque())
    }

    var image: WebImage? {
        if case .image(let image) = shown, !isPlaceholder { return image }
        return nil
    }

    /// Whether there is nothing to be seen.
    var isEmpty: Bool { shown.isNothing && indicator == nil }

    private var isPlaceholder = false

    // Animated images

    /// How they play. Changes hold for what is shown, too.
    var playback = ImagePlayback() {
        didSet {
            guard playback != oldValue else { return }
            guard playback.isShared == oldValue.isShared else { return startPlaying() }
            playing?.player.playback = playback
            if playback.isAutomatic, !oldValue.isAutomatic { playing?.start() }
        }
    }
    private var playing: SharedPlayer?
    /// When it was drawn last: what nobody draws need not move.
    private var lastDraw = 0.0
    private var isAsleep = false

    var player: AnimationPlayer? { playing?.player }

    /// - Parameter isContinued: Whether it is the same image as before, in more pixels or with more frames.
    private func startPlaying(isContinued: Bool = false) {
        let before = playing
        playing?.remove(self)
        playing = nil
        guard case .image(let image) = shown, let hub = SharedPlayer.hub(for: image, playback) else { return }
        playing = hub
        lastDraw = MainLoopClock.shared.now
        isAsleep = false
        hub.add(self, continuing: isContinued ? before : nil)
        if !isOnScreen { sleep() }
    }

    /// Another frame is to be seen.
    func frameChanged() {
        gdk_paintable_invalidate_contents(native)
        // A window that is hidden has no frames, and a widget that is scrolled away draws nothing.
        if MainLoopClock.shared.now - lastDraw > 1 { sleep() }
    }

    private func sleep() {
        isAsleep = true
        playing?.setVisible(false, self)
    }

    private func wake() {
        guard isAsleep else { return }
        isAsleep = false
        lastDraw = MainLoopClock.shared.now
        playing?.setVisible(true, self)
    }

    /// What is seen: of an animated image the frame that is due.
    private var visible: DisplayedContent {
        if let frame = playing?.player.currentFrame { return .image(frame) }
        return shown
    }

    func show(_ placeholder: Placeholder?) {
        isPlaceholder = true
        change(to: DisplayedContent(placeholder, for: styleWidget?()), transition: nil, onEnd: nil)
    }

    /// Shows an image as a placeholder.
    func show(placeholder image: WebImage) {
        isPlaceholder = true
        change(to: .image(image), transition: nil, onEnd: nil)
    }

    /// - Parameters:
    ///   - onEnd: Called once, when the image alone is shown: within this call without a transition.
    ///   - isContinued: Whether it is the image that is shown, in more pixels or with more frames.
    func show(
        _ image: WebImage,
        transition: ImageTransition? = nil,
        isContinued: Bool = false,
        onEnd: (() -> Void)? = nil
    ) {
        isPlaceholder = false
        change(to: .image(image), transition: transition, isContinued: isContinued, onEnd: onEnd)
    }

    private func change(
        to next: DisplayedContent,
        transition: ImageTransition?,
        isContinued: Bool = false,
        onEnd: (() -> Void)?
    ) {
        finishTransition()
        observation?.end()
        observation = nil
        if let transition, isOnScreen, ReducedMotion.isWanted {
            self.transition = RunningTransition(from: visible, transition, onEnd: onEnd)
        }
        let isSameImage = shown.image != nil && shown.image == next.image
        shown = next
        if !isSameImage { startPlaying(isContinued: isContinued) }
        if case .paintable(let paintable) = next {
            observation = PaintableObservation(paintable) { [weak self] in
                self.map { gdk_paintable_invalidate_contents($0.native) }
            } size: { [weak self] in
                self?.updateSize()
            }
        }
        updateSize()
        updateTicker()
        if self.transition == nil { onEnd?() }
    }

    private func updateSize() {
        let new = hasSize ? shown.size : (0, 0)
        if new != size {
            size = new
            gdk_paintable_invalidate_size(native)
        }
        gdk_paintable_invalidate_contents(native)
    }

    // Transitions

    /// Ends a transition where it is: the new image is shown alone.
    func finishTransition() {
        guard let ended = transition.take() else { return }
        gdk_paintable_invalidate_contents(native)
        ended.onEnd?()
        updateTicker()
    }

    /// Only what is seen need move. A paintable without a widget may be drawn by any.
    private var isOnScreen: Bool {
        guard let styleWidget else { return true }
        return styleWidget().map { gtk_widget_get_mapped($0) != 0 } ?? false
    }

    // Indicators

    func beginLoading(_ indicator: ImageIndicator?) {
        endLoading()
        guard let indicator else { return }
        let running = RunningIndicator(indicator)
        self.indicator = running
        running.start { [weak self] in
            guard let self else { return }
            gdk_paintable_invalidate_contents(native)
            updateTicker()
        }
    }

    /// - Parameter fraction: How much is there, from 0 to 1; nil while that is not known.
    func setProgress(_ fraction: Double?) {
        guard let indicator else { return }
        indicator.fraction = fraction
        if indicator.isVisible { gdk_paintable_invalidate_contents(native) }
    }

    func endLoading() {
        guard let ended = indicator.take() else { return }
        ended.stop()
        if ended.isVisible { gdk_paintable_invalidate_contents(native) }
        updateTicker()
    }

    // Frames

    private func updateTicker() {
        let isNeeded = transition != nil || indicator?.isMoving == true
        if isNeeded, ticker == nil {
            ticker = FrameTicker(styleWidget?()) { [weak self] time in self?.tick(time) }
        } else if !isNeeded, let ended = ticker.take() {
            ended.stop()
        }
    }

    func tick(_ time: Double) {
        indicator?.time = time
        if let transition, transition.advance(to: time) {
            finishTransition()
        } else {
            gdk_paintable_invalidate_contents(native)
        }
    }

    /// When the widget leaves the screen there are no frames, and nobody to see them.
    func widgetUnmapped() {
        finishTransition()
        if playing != nil { sleep() }
    }

    func widgetMapped() {
        wake()
    }
}

// What the GObject asks for.
extension PaintableContent {
    fileprivate func draw(_ snapshot: OpaquePointer, width: Double, height: Double) {
        guard width > 0, height > 0 else { return }
        let widget = styleWidget?()
        if let transition {
            transition.draw(to: visible, snapshot, width, height, widget)
        } else {
            visible.draw(snapshot, width, height, widget)
        }
        drawn()
        if image != nil { onDraw?(width, height) }
        indicator?.draw(snapshot, width, height, widget)
    }

    /// The texture of what is shown, which never changes; else something empty of the same size.
    fileprivate func makeCurrentImage() -> OpaquePointer {
        visible.makeStill() ?? gdk_paintable_new_empty(intrinsicWidth, intrinsicHeight)
    }

    /// Within GTK's snapshot, where nothing may be changed.
    private func drawn() {
        guard playing != nil else { return }
        lastDraw = MainLoopClock.shared.now
        guard isAsleep, isOnScreen else { return }
        MainLoopDispatcher.shared.dispatch { [weak self] in MainActor.assumeIsolated { self?.wake() } }
    }

    fileprivate var intrinsicWidth: Int32 { Int32(clamping: Int(size.width.rounded())) }
    fileprivate var intrinsicHeight: Int32 { Int32(clamping: Int(size.height.rounded())) }
    fileprivate var aspectRatio: Double { size.height > 0 ? size.width / size.height : 0 }
}

/// The functions that the GObject calls. GTK calls them on the main thread only.
private enum PaintableCallbacks {
    /// Made once and never freed, as class tables are.
    @MainActor static let table: UnsafePointer<GwiPaintableFunctions> = {
        let table = UnsafeMutablePointer<GwiPaintableFunctions>.allocate(capacity: 1)
        table.initialize(
            to: GwiPaintableFunctions(
                snapshot: { context, snapshot, width, height in
                    let address = UInt(bitPattern: snapshot)
                    onMain(context) { content in
                        MainThreadMeter.measure {
                            content.draw(OpaquePointer(bitPattern: address)!, width: width, height: height)
                        }
                    }
                },
                current_image: { context in
                    OpaquePointer(bitPattern: onMain(context) { UInt(bitPattern: $0.makeCurrentImage()) })
                },
                width: { context in onMain(context) { $0.intrinsicWidth } },
                height: { context in onMain(context) { $0.intrinsicHeight } },
                aspect_ratio: { context in onMain(context) { $0.aspectRatio } },
                release: { context in Unmanaged<PaintableContent>.fromOpaque(context!).release() }
            )
        )
        return UnsafePointer(table)
    }()

    private static func onMain<R: Sendable>(
        _ context: UnsafeMutableRawPointer?,
        _ body: @MainActor (PaintableContent) -> R
    ) -> R {
        let content = Unmanaged<PaintableContent>.fromOpaque(context!).takeUnretainedValue()
        return MainActor.assumeIsolated { body(content) }
    }
}
