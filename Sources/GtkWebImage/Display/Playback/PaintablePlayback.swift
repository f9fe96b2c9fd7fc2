internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The playback of one animated image by one paintable. It sleeps while its widget is out of view, and while the
/// paintable is not drawn.
@MainActor
final class PaintablePlayback {
    private var shared: SharedPlayer
    private let viewer: SharedPlayer.Viewer
    /// The widget that shows the frames, if it exists. No other widget shows them.
    private let widget: () -> UnsafeMutablePointer<GtkWidget>?
    private let onFrame: () -> Void
    /// When the first frame began to wait for being drawn, in seconds; `nil` if the displayed frame was drawn.
    private var undrawnSince: Double?
    private var isAsleep = false
    /// Wakes a playback whose widget is out of view.
    private var watcher: ViewWatcher?

    /// Starts playing.
    /// - Parameters:
    ///   - widget: Returns the widget that shows the frames.
    ///   - onFrame: Called when another frame is due.
    /// - Returns: `nil` if the image is not animated.
    init?(
        _ image: WebImage,
        _ playback: ImagePlayback,
        widget: @escaping () -> UnsafeMutablePointer<GtkWidget>?,
        onFrame: @escaping () -> Void
    ) {
        guard let shared = SharedPlayer.player(for: image, playback) else { return nil }
        self.shared = shared
        self.widget = widget
        self.onFrame = onFrame
        viewer = SharedPlayer.Viewer()
        viewer.onFrame = { [weak self] in
            onFrame()
            self?.sleepUnlessSeen()
        }
        shared.add(viewer)
        sleepUnlessInView()
    }

    /// Continues with the same image with more pixels or frames.
    func show(_ image: WebImage) {
        guard let other = shared.show(image) else { return }
        // Another widget already plays the image in step.
        shared.remove(viewer)
        shared = other
        shared.add(viewer)
    }

    var player: AnimationPlayer { shared.player }

    /// Applies changed settings.
    func apply(_ playback: ImagePlayback) {
        let wasAutomatic = player.playback.isAutomatic
        let wasAllowed = PlaybackEnvironment.allows(player.playback)
        player.playback = playback
        if playback.isAutomatic, !wasAutomatic { shared.start() }
        // Otherwise a player that the app has started against the system settings continues.
        if PlaybackEnvironment.allows(playback) != wasAllowed { shared.systemSettingsChanged() }
    }

    /// Ends the playback. A synchronized player continues for its other viewers.
    func stop() {
        watcher = nil
        shared.remove(viewer)
    }

    func sleep() {
        watcher = nil
        viewer.isOutOfView = false
        isAsleep = true
        shared.setVisible(false, for: viewer)
    }

    func wake() {
        guard isAsleep else { return }
        watcher = nil
        isAsleep = false
        undrawnSince = nil
        if viewer.isOutOfView {
            viewer.isOutOfView = false
            // A player with other viewers has continued.
            onFrame()
        }
        shared.setVisible(true, for: viewer)
    }

    /// Records that a frame was drawn, and wakes a sleeping playback. It runs within GTK's snapshot, where nothing may
    /// change, so the playback wakes in a later turn of the main loop.
    func didDraw(isOnScreen: Bool) {
        undrawnSince = nil
        guard isAsleep, watcher == nil, isOnScreen else { return }
        MainLoopDispatcher.shared.dispatch { [weak self] in MainActor.assumeIsolated { self?.wake() } }
    }

    private func sleepUnlessSeen() {
        sleepUnlessInView()
        let since = undrawnSince ?? MainLoopClock.shared.now
        undrawnSince = since
        // Hidden windows draw nothing, nor does a paintable that no widget shows.
        if !isAsleep, MainLoopClock.shared.now - since > 1 { sleep() }
    }

    /// Sleeps while a mapped widget is out of view, because GTK also draws the changes of such a widget. An unmapped
    /// widget sleeps until it is mapped.
    private func sleepUnlessInView() {
        guard !isAsleep, let widget = widget(), gtk_widget_get_mapped(widget) != 0, !widget.isInView else { return }
        guard let watcher = ViewWatcher(widget, { [weak self] in self?.wake() }) else { return }
        sleep()
        viewer.isOutOfView = true
        self.watcher = watcher
    }
}
