import WebImageCore
import WebImageLinux

/// The playback of one animated image by one paintable. It sleeps while the paintable is not drawn.
@MainActor
final class PaintablePlayback {
    private var shared: SharedPlayer
    private let viewer: SharedPlayer.Viewer
    /// The time of the last drawing, in seconds. A widget that is scrolled out of view is no longer drawn.
    private var lastDraw = MainLoopClock.shared.now
    private var isAsleep = false

    /// Starts playing.
    /// - Parameters:
    ///   - onFrame: Called when another frame is due.
    /// - Returns: `nil` for an image that is not animated.
    init?(
        _ image: WebImage,
        _ playback: ImagePlayback,
        onFrame: @escaping () -> Void
    ) {
        guard let shared = SharedPlayer.player(for: image, playback) else { return nil }
        self.shared = shared
        viewer = SharedPlayer.Viewer()
        viewer.onFrame = { [weak self] in
            onFrame()
            self?.sleepUnlessDrawn()
        }
        shared.add(viewer)
    }

    /// Goes on with the same image in more pixels or frames.
    func show(_ image: WebImage) {
        guard let other = shared.show(image) else { return }
        // Another widget plays it in step already.
        shared.remove(viewer)
        shared = other
        shared.add(viewer)
    }

    var player: AnimationPlayer { shared.player }

    /// Applies changed settings.
    func apply(_ playback: ImagePlayback) {
        let wasAutomatic = player.playback.isAutomatic
        player.playback = playback
        if playback.isAutomatic, !wasAutomatic { shared.start() }
    }

    /// Ends the playback. A synchronized player continues for its other viewers.
    func stop() {
        shared.remove(viewer)
    }

    func sleep() {
        isAsleep = true
        shared.setVisible(false, for: viewer)
    }

    func wake() {
        guard isAsleep else { return }
        isAsleep = false
        lastDraw = MainLoopClock.shared.now
        shared.setVisible(true, for: viewer)
    }

    /// Notes that a frame was drawn, and wakes a sleeping playback. It runs inside of GTK's snapshot, where nothing may
    /// change, so the playback wakes in a later turn of the main loop.
    func didDraw(isOnScreen: Bool) {
        lastDraw = MainLoopClock.shared.now
        guard isAsleep, isOnScreen else { return }
        MainLoopDispatcher.shared.dispatch { [weak self] in MainActor.assumeIsolated { self?.wake() } }
    }

    /// Hidden windows and widgets that are scrolled out of view draw nothing, so their frames are not seen.
    private func sleepUnlessDrawn() {
        if MainLoopClock.shared.now - lastDraw > 1 { sleep() }
    }
}
