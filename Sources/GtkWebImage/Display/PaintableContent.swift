internal import CWebImageGtk4
internal import CWebImageGtkShims
import WebImageCore
import WebImageLinux

/// Observes the content of a paintable.
@MainActor
protocol ContentObserving: AnyObject {
    /// Receives the size in application pixels at which an image is drawn. It runs within GTK's snapshot, so it must
    /// not change widgets.
    func didDraw(width: Double, height: Double)
    /// Called when the indicator becomes visible, some time after the load has started.
    func indicatorDidAppear()
}

/// The content of one GdkPaintable: an image or a placeholder, the transition to it, and an indicator above it.
@MainActor
final class PaintableContent {
    /// The state of the image or placeholder on display. The next one replaces it as a whole.
    @MainActor
    private struct Displayed {
        var content = DisplayedContent.nothing
        /// The point that stays in view if the content is cropped.
        var focus = ImagePoint.center
        var isPlaceholder = false
        var playback: PaintablePlayback?
        var svg: SvgPlayback?
        var observation: SignalConnections?

        /// The content to draw now. For an animated image, this is the current frame.
        var visible: DisplayedContent { playback.map { .image($0.player.currentFrame) } ?? content }
    }

    /// The GdkPaintable, which owns this object and calls it to draw.
    let native: OpaquePointer = gwi_paintable_new(PaintableContent.functions)
    private var displayed = Displayed()
    private var transition: RunningTransition?
    private var indicator: RunningIndicator?
    private var ticker: FrameTicker?
    /// The intrinsic size in application pixels; 0 if there is none.
    private(set) var size = (width: 0.0, height: 0.0)
    /// The longer side at which a whole image was last drawn, in application pixels.
    private(set) var drawnSide = 0.0

    /// An object, because a closure takes two allocations, and most widgets of a list have an observer.
    weak var observer: (any ContentObserving)?
    /// The widget whose frame clock and text color apply.
    var styleWidget: WidgetReference?
    /// Whether the style widget draws the content. If not, the app has put the paintable into other widgets.
    var isDrawnByWidget = true
    /// Whether the content determines the size of the widget. A background image does not.
    var hasSize = true
    /// Whether to draw a transparent rectangle first, so that GTK keeps the node when there is no content.
    var isNeverBlank = false
    /// Called when the displayed content has no size, before the widget is told.
    var onSizeLost: (() -> Void)?
    /// How animated images play. A change also applies to the image on display.
    var playback = ImagePlayback() {
        didSet {
            guard playback != oldValue else { return }
            guard playback.isSynchronized == oldValue.isSynchronized else { return restartPlayback() }
            displayed.playback?.apply(playback)
        }
    }

    init() {
        gwi_paintable_set_context(native, Unmanaged.passRetained(self).toOpaque())
    }

    /// The image on display; `nil` while the paintable shows a placeholder or nothing.
    var image: WebImage? { displayed.isPlaceholder ? nil : displayed.content.image }

    /// Whether nothing is visible.
    var isEmpty: Bool { displayed.content.isNothing && indicator?.isVisible != true }

    /// Whether the content has a size. A color has none, nor has an indicator without content.
    var hasIntrinsicSize: Bool { displayed.content.size.width > 0 && displayed.content.size.height > 0 }

    /// The player of the animated image on display.
    var player: AnimationPlayer? { displayed.playback?.player }

    // Content

    /// - Parameter keepsPreview: Whether an icon is drawn over an image that is displayed as a placeholder.
    func show(_ placeholder: ImagePlaceholder?, keepsPreview: Bool = false) {
        var content = placeholder.map { DisplayedContent($0) } ?? .nothing
        if keepsPreview, displayed.isPlaceholder, case .icon(let icon, _) = content {
            content = .icon(icon, over: displayed.content.image)
        }
        display(Displayed(content: content, isPlaceholder: true))
    }

    /// Shows an image as a placeholder.
    func show(placeholder image: WebImage) {
        display(Displayed(content: .image(image), isPlaceholder: true))
    }

    /// Shows an image.
    /// - Parameters:
    ///   - focus: The point that stays in view if the image is cropped.
    ///   - isContinued: Whether this is the displayed image with more pixels or frames, so that a transition to it
    ///     continues and its player stays.
    ///   - onEnd: Called once, at the end of the transition; without a transition, within this call.
    func show(
        _ image: WebImage,
        transition: ImageTransition? = nil,
        focus: ImagePoint = .center,
        isContinued: Bool = false,
        onEnd: (@MainActor @Sendable () -> Void)? = nil
    ) {
        let next = Displayed(content: .image(image), focus: focus)
        if isContinued, let running = self.transition {
            if let onEnd { running.onEnd.append(onEnd) }
            return display(next, isContinued: true)
        }
        finishTransition()
        if let transition, isOnScreen, !ReducedMotion.isRequested {
            self.transition = RunningTransition(from: displayed.visible, focus: displayed.focus, transition)
            if let onEnd = transition.onEnd { self.transition?.onEnd.append(onEnd) }
            if let onEnd { self.transition?.onEnd.append(onEnd) }
            // The closure runs in a later turn, because it may set another image. Frames are drawn after that, at a lower priority.
            if let onStart = transition.onStart {
                MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { onStart() } }
            }
        }
        display(next, isContinued: isContinued)
        if self.transition == nil { onEnd?() }
    }

    private func display(_ content: Displayed, isContinued: Bool = false) {
        if content.isPlaceholder { finishTransition() }
        displayed.observation?.disconnect()
        let svg = displayed.svg
        var next = content
        let content = content.content
        let isSame = content.image != nil && content.image == displayed.content.image
        let goesOn = isContinued && content.image?.animation != nil && displayed.playback != nil
        if isSame || goesOn {
            next.playback = displayed.playback
        } else {
            displayed.playback?.stop()
            next.playback = makePlayback(of: content.image)
        }
        if case .paintable(let paintable) = content { next.observation = observe(paintable) }
        displayed = next
        svg?.stop()
        playSvg()
        if let onSizeLost, !hasIntrinsicSize { onSizeLost() }
        updateSize()
        updateTicker()
        // The app is told of a frame and may set another image.
        if goesOn, !isSame, let image = content.image { next.playback?.show(image) }
    }

    /// Follows the changes of a paintable of the app.
    private func observe(_ paintable: GObjectBox) -> SignalConnections {
        let connections = SignalConnections(paintable)
        connections.connect("invalidate-contents") { [weak self] in self?.redraw() }
        connections.connect("invalidate-size") { [weak self] in self?.updateSize() }
        return connections
    }

    private func updateSize() {
        let newSize = hasSize ? displayed.content.size : (0, 0)
        if newSize != size {
            size = newSize
            gdk_paintable_invalidate_size(native)
        }
        redraw()
    }

    /// Draws the content again.
    func redraw() { gdk_paintable_invalidate_contents(native) }

    // Playback

    /// The widget that draws the content, if it exists. No other widget draws it.
    var drawingWidget: UnsafeMutablePointer<GtkWidget>? { isDrawnByWidget ? styleWidget?.pointer : nil }

    private func makePlayback(of image: WebImage?) -> PaintablePlayback? {
        guard let image, image.animation != nil else { return nil }
        let playback = PaintablePlayback(image, playback, in: self)
        if !isOnScreen { playback?.sleep() }
        return playback
    }

    private func playSvg() {
        guard case .paintable(let paintable) = displayed.content, displayed.svg == nil, isOnScreen else { return }
        displayed.svg = SvgPlayback(paintable, in: styleWidget?.pointer)
        displayed.svg?.start()
    }

    private func restartPlayback() {
        displayed.playback?.stop()
        displayed.playback = makePlayback(of: displayed.content.image)
    }

    // Transitions

    /// Ends a running transition at once, so that only the new image remains. The completions of the transition run in a later
    /// turn of the main loop, because they may set another image, which must come after the image that is being set now.
    func finishTransition() {
        guard let ended = transition.take() else { return }
        redraw()
        for onEnd in ended.onEnd {
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { onEnd() } }
        }
        updateTicker()
    }

    // Indicators

    func beginLoading(_ indicator: ImageIndicator?) {
        endLoading()
        guard let indicator else { return }
        let running = RunningIndicator(indicator)
        self.indicator = running
        running.start { [weak self] in
            self?.redraw()
            self?.updateTicker()
            self?.observer?.indicatorDidAppear()
        }
    }

    /// Updates the indicator.
    /// - Parameter fraction: The share of the image that has arrived, from 0 to 1; `nil` while it is unknown.
    func setProgress(_ fraction: Double?) {
        guard let indicator else { return }
        indicator.fraction = fraction
        if indicator.isVisible { redraw() }
    }

    func endLoading() {
        guard let ended = indicator.take() else { return }
        ended.stop()
        if ended.isVisible { redraw() }
        updateTicker()
    }

    // Frames

    private func updateTicker() {
        let isNeeded = transition != nil || indicator?.isAnimated == true
        if isNeeded, ticker == nil {
            ticker = FrameTicker(styleWidget) { [weak self] time in self?.tick(time) }
        } else if !isNeeded, let ended = ticker.take() {
            ended.stop()
        }
    }

    private func tick(_ time: Double) {
        indicator?.time = time
        if let transition, transition.advance(to: time) {
            finishTransition()
        } else {
            redraw()
        }
    }

    // The widget

    /// Whether the widget is mapped. A paintable without a widget counts as visible, because any widget may draw it.
    private var isOnScreen: Bool {
        guard let styleWidget else { return true }
        return styleWidget.pointer.map { gtk_widget_get_mapped($0) != 0 } ?? false
    }

    func widgetMapped() {
        displayed.playback?.wake()
        playSvg()
    }

    /// Ends what depends on frames, because an unmapped widget has none.
    func widgetUnmapped() {
        finishTransition()
        displayed.playback?.sleep()
        displayed.svg.take()?.stop()
    }
}

// Requests of the GObject.
extension PaintableContent {
    /// The C functions of the GdkPaintable. GTK calls them on the main thread, except `release`. Allocated once and never
    /// freed, like a class structure.
    private static let functions: UnsafePointer<GwiPaintableFunctions> = {
        let functions = UnsafeMutablePointer<GwiPaintableFunctions>.allocate(capacity: 1)
        functions.initialize(
            to: GwiPaintableFunctions(
                snapshot: { context, snapshot, width, height in
                    let address = UInt(bitPattern: snapshot)
                    let content = Unmanaged<PaintableContent>.fromOpaque(context!).takeUnretainedValue()
                    MainActor.assumeIsolated {
                        MainThreadMeter.measure {
                            content.draw(OpaquePointer(bitPattern: address)!, width: width, height: height)
                        }
                    }
                },
                current_image: { context in
                    OpaquePointer(bitPattern: onMain(context) { UInt(bitPattern: $0.makeCurrentImage()) })
                },
                width: { context in onMain(context) { Int32(bounded: $0.size.width.rounded()) } },
                height: { context in onMain(context) { Int32(bounded: $0.size.height.rounded()) } },
                aspect_ratio: { context in
                    onMain(context) { $0.size.height > 0 ? $0.size.width / $0.size.height : 0 }
                },
                release: { context in Unmanaged<PaintableContent>.fromOpaque(context!).release() }
            )
        )
        return UnsafePointer(functions)
    }()

    /// Calls a function that captures nothing. GTK asks for sizes at every layout, and `assumeIsolated` would allocate twice.
    nonisolated private static func onMain<R: Sendable>(
        _ context: UnsafeMutableRawPointer?,
        _ body: @escaping @MainActor @Sendable (PaintableContent) -> R
    ) -> R {
        MainActor.preconditionIsolated()
        let content = Unmanaged<PaintableContent>.fromOpaque(context!).takeUnretainedValue()
        return unsafeBitCast(body, to: (@Sendable (PaintableContent) -> R).self)(content)
    }

    private func draw(_ snapshot: OpaquePointer, width: Double, height: Double) {
        var context = DrawingContext(snapshot: snapshot, width: width, height: height, widget: styleWidget?.pointer)
        guard !context.isEmpty else { return }
        if isNeverBlank {
            var (transparent, bounds) = (GdkRGBA(), context.bounds)
            gtk_snapshot_append_color(snapshot, &transparent, &bounds)
        }
        if isDrawnByWidget, let widget = context.widget {
            context.overhang = Overhang(
                width: Overhang.Side(of: width, in: Double(gtk_widget_get_width(widget))),
                height: Overhang.Side(of: height, in: Double(gtk_widget_get_height(widget)))
            )
        }
        if let transition {
            transition.draw(in: context) { drawVisible(in: $0) }
        } else {
            drawVisible(in: context)
        }
        displayed.playback?.undrawnSince = nil
        if displayed.playback?.isAsleep == true, isOnScreen { displayed.playback?.wakeLater() }
        if let image {
            if !image.isPartial { drawnSide = max(width, height) }
            observer?.didDraw(width: width, height: height)
        }
        indicator?.draw(in: context)
    }

    private func drawVisible(in context: DrawingContext) {
        // GtkPicture stretches content without a size. If it crops an image, it shows the middle.
        if !hasSize {
            displayed.visible.drawCovering(in: context, focus: displayed.focus)
        } else if displayed.focus == .center {
            displayed.visible.draw(in: context)
        } else {
            context.focused(on: displayed.focus) { displayed.visible.draw(in: $0) }
        }
    }

    /// A new reference to an immutable copy of the visible content; an empty paintable of the same size if there is none.
    private func makeCurrentImage() -> OpaquePointer {
        let (width, height) = (Int32(bounded: size.width.rounded()), Int32(bounded: size.height.rounded()))
        return displayed.visible.makeStill() ?? gdk_paintable_new_empty(width, height)
    }
}
