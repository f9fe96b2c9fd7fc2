import WebImageCore
import WebImageLinux

/// A player and the paintables that show its frames: one, or all that share it.
@MainActor
final class SharedPlayer {
    private struct Viewer {
        weak var content: PaintableContent?
        var isVisible: Bool
    }

    private struct WeakHub {
        weak var hub: SharedPlayer?
    }

    /// Of all animations.
    nonisolated static let budget = AnimationBudget(limit: min(SystemResources.memorySize / 16, 192 << 20))
    private static let queue = WorkQueue(
        name: "gwi-frames",
        threadCount: min(max(SystemResources.processorCount, 1), 4),
        niceness: 5
    )
    private static var shared: [ObjectIdentifier: WeakHub] = [:]

    let player: AnimationPlayer
    private var viewers: [ObjectIdentifier: Viewer] = [:]
    /// Whether it stands still for the user's settings or the power saver only.
    private var isHeld = false

    private init?(_ image: WebImage, _ playback: ImagePlayback) {
        guard let player = AnimationPlayer(image, playback) else { return nil }
        self.player = player
        player.onChange = { [weak self] in self?.changed() }
    }

    /// - Returns: nil for an image that is not animated.
    static func hub(for image: WebImage, _ playback: ImagePlayback) -> SharedPlayer? {
        guard image.animation != nil else { return nil }
        PlaybackEnvironment.start()
        guard playback.isShared else { return SharedPlayer(image, playback) }
        let key = ObjectIdentifier(image.storage)
        if let hub = shared[key]?.hub { return hub }
        shared = shared.filter { $0.value.hub != nil }
        let hub = SharedPlayer(image, playback)
        shared[key] = WeakHub(hub: hub)
        return hub
    }

    /// - Parameter other: What has played the same image until now, in fewer pixels or with fewer frames.
    func add(_ content: PaintableContent, continuing other: SharedPlayer?) {
        let isFirst = viewers.isEmpty
        viewers[ObjectIdentifier(content)] = Viewer(content: content, isVisible: true)
        PlaybackEnvironment.add(self)
        if isFirst, let other {
            isHeld = other.isHeld
            player.takeOver(from: other.player)
        } else if isFirst, player.playback.isAutomatic {
            start()
        }
        updateVisibility()
    }

    /// Plays, as soon as the machine's settings allow it.
    func start() {
        if PlaybackEnvironment.allows(player.playback) { player.play() } else { isHeld = true }
    }

    func remove(_ content: PaintableContent) {
        viewers[ObjectIdentifier(content)] = nil
        updateVisibility()
    }

    func setVisible(_ isVisible: Bool, _ content: PaintableContent) {
        viewers[ObjectIdentifier(content)]?.isVisible = isVisible
        updateVisibility()
    }

    /// The settings of the machine have changed.
    func reconsider() {
        let allows = PlaybackEnvironment.allows(player.playback)
        if allows, isHeld {
            isHeld = false
            player.play()
        } else if !allows, player.isPlaying {
            isHeld = true
            player.pause()
        }
    }

    private func updateVisibility() {
        player.setVisible(viewers.values.contains { $0.content != nil && $0.isVisible })
    }

    private func changed() {
        for viewer in viewers.values { viewer.content?.frameChanged() }
    }
}

extension AnimationPlayer {
    /// Plays an image for whatever an app draws itself: onFrame says when currentFrame is another one. It
    /// begins with play().
    /// - Returns: nil for an image that is not animated.
    public convenience init?(_ image: WebImage, _ playback: ImagePlayback = ImagePlayback()) {
        self.init(
            image,
            playback,
            clock: MainLoopClock.shared,
            queue: SharedPlayer.frameQueue,
            budget: SharedPlayer.budget,
            dispatcher: MainLoopDispatcher.shared,
            preparation: TexturePreparation()
        )
    }
}

extension AnimationPlayer {
    /// Bytes of frames that all animations of widgets have decoded ahead just now.
    public nonisolated static var bufferedByteCount: Int { SharedPlayer.budget.used }

    /// Bytes of frames that all of them may have: a sixteenth of the machine's memory, at most 192 MiB. The frame that
    /// each shows, and the next one, come on top.
    public nonisolated static var bufferLimit: Int { SharedPlayer.budget.limit }
}

extension SharedPlayer {
    fileprivate static var frameQueue: WorkQueue { queue }
}
