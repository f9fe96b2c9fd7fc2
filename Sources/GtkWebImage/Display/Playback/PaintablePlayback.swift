internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The playback of one animated image by one paintable, which views a player. It sleeps while its widget is out of view,
/// and while the paintable is not drawn.
@MainActor
final class PaintablePlayback {
    private var shared: SharedPlayer
    /// Owns this object.
    private weak var content: PaintableContent?
    /// When the first frame began to wait for being drawn, in seconds; `nil` if the displayed frame was drawn.
    var undrawnSince: Double?
    private(set) var isAsleep = false
    /// Watches whether the widget is in view, while it is mapped; `nil` as well if the playback began or woke before.
    private var watcher: ViewWatcher?
    private var isInView: Bool { watcher?.isInView != false }

    /// Starts playing.
    /// - Returns: `nil` if the image is not animated.
    init?(_ image: WebImage, _ playback: ImagePlayback, in content: PaintableContent) {
        guard let shared = SharedPlayer.player(for: image, playback) else { return nil }
        (self.shared, self.content) = (shared, content)
        watchView()
        shared.add(self)
    }

    /// Continues with the same image with more pixels or frames.
    func show(_ image: WebImage) {
        guard let other = shared.show(image) else { return }
        // Another widget already plays the image in step.
        shared.remove(self)
        shared = other
        shared.add(self)
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
        shared.remove(self)
    }

    func sleep() {
        (watcher, isAsleep) = (nil, true)
        shared.updateVisibility()
    }

    func wake() {
        guard watcher == nil else { return }
        (isAsleep, undrawnSince) = (false, nil)
        watchView()
        shared.updateVisibility()
    }

    /// Wakes a sleeping playback that was drawn. This runs within GTK's snapshot, where nothing may change, so the
    /// playback wakes in a later turn of the main loop.
    func wakeLater() {
        guard watcher == nil else { return }
        MainLoopDispatcher.shared.dispatch { [weak self] in MainActor.assumeIsolated { self?.wake() } }
    }

    /// Draws another frame of the player, unless the widget is out of view.
    func frameChanged() {
        guard isInView else { return }
        content?.redraw()
        let since = undrawnSince ?? MainLoopClock.shared.now
        undrawnSince = since
        // Hidden windows draw nothing, nor does a paintable that no widget shows.
        if !isAsleep, MainLoopClock.shared.now - since > 1 { sleep() }
    }

    /// Sleeps while a mapped widget is out of view, because GTK also draws the changes of such a widget. An unmapped
    /// widget sleeps until it is mapped.
    private func watchView() {
        guard let widget = content?.drawingWidget, gtk_widget_get_mapped(widget) != 0 else { return }
        watcher = ViewWatcher(widget) { [weak self] in self?.viewChanged() }
        isAsleep = !isInView
    }

    private func viewChanged() {
        (isAsleep, undrawnSince) = (!isInView, nil)
        // A player with other viewers has continued.
        if isInView { content?.redraw() }
        shared.updateVisibility()
    }
}
