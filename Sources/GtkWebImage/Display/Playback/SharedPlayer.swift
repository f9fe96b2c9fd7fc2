import WebImageCore
import WebImageLinux

/// A player and its viewers: the playback of one paintable, or of all paintables that play an image in step.
@MainActor
final class SharedPlayer {
    /// The memory of all animations together.
    nonisolated static let budget = AnimationBudget(limit: min(SystemResources.memorySize / 16, 192 << 20))
    fileprivate static let queue = WorkQueue(
        name: "gwi-frames",
        threadCount: min(max(SystemResources.processorCount, 1), 4),
        isBatch: true
    )
    private static var synchronized: [ObjectIdentifier: Weak<SharedPlayer>] = [:]

    let player: AnimationPlayer
    private var viewers: [Weak<PaintablePlayback>] = []

    private init?(_ image: WebImage, _ playback: ImagePlayback) {
        guard let player = AnimationPlayer(image, playback) else { return nil }
        self.player = player
    }

    /// The player for an image: the common one if playback is synchronized, else a new one.
    /// - Returns: `nil` if the image is not animated.
    static func player(for image: WebImage, _ playback: ImagePlayback) -> SharedPlayer? {
        PlaybackEnvironment.start()
        guard playback.isSynchronized else { return SharedPlayer(image, playback) }
        let key = ObjectIdentifier(image.storage)
        if let existing = synchronized[key]?.object { return existing }
        synchronized = synchronized.filter { $0.value.object != nil }
        let player = SharedPlayer(image, playback)
        synchronized[key] = Weak(object: player)
        return player
    }

    /// Continues with the same image with more pixels or frames, for all viewers.
    /// - Returns: The shared player of that image, if there is one that the viewer must join instead.
    func show(_ image: WebImage) -> SharedPlayer? {
        if player.playback.isSynchronized {
            // More pixels are better for all viewers. With fewer, a larger widget would stay blurred.
            let isSmaller = image.decodedSize.width < player.image.decodedSize.width
            if isSmaller, viewers.count(where: { $0.object != nil }) > 1 { return nil }
            let key = ObjectIdentifier(image.storage)
            if let other = Self.synchronized[key]?.object { return other === self ? nil : other }
            Self.synchronized = Self.synchronized.filter { $0.value.object != nil && $0.value.object !== self }
            Self.synchronized[key] = Weak(object: self)
        }
        let wasPlaying = player.isPlaying
        player.show(image)
        // Playback resumes if it had reached the end of the frames that had arrived.
        if player.isPlaying, !wasPlaying { systemSettingsChanged() }
        return nil
    }

    /// Adds a viewer, which is held weakly. The first one starts the player if playback is automatic.
    func add(_ viewer: PaintablePlayback) {
        let isFirst = viewers.isEmpty
        viewers.removeAll { $0.object == nil }
        viewers.append(Weak(object: viewer))
        // Most players have one viewer, which they tell directly.
        player.onChange = isFirst ? { [weak viewer] in viewer?.frameChanged() } : { [weak self] in self?.tellViewers() }
        PlaybackEnvironment.add(self)
        if isFirst, player.playback.isAutomatic { start() }
        updateVisibility()
    }

    func remove(_ viewer: PaintablePlayback) {
        viewers.removeAll { $0.object == nil || $0.object === viewer }
        if viewers.isEmpty { player.onChange = nil }
        updateVisibility()
    }

    /// Plays as soon as the system settings allow it.
    func start() {
        if PlaybackEnvironment.allows(player.playback) { player.play() } else { player.isHeld = true }
    }

    /// Pauses or resumes after a change of the system settings.
    func systemSettingsChanged() {
        let isAllowed = PlaybackEnvironment.allows(player.playback)
        if isAllowed, player.isHeld {
            player.play()
        } else if !isAllowed, player.isPlaying {
            player.pause()
            player.isHeld = true
        }
    }

    /// Pauses the player while all viewers sleep.
    func updateVisibility() {
        player.setVisible(viewers.contains { $0.object?.isAsleep == false })
    }

    private func tellViewers() {
        // A paintable that was released has not been removed.
        if viewers.contains(where: { $0.object == nil }) { updateVisibility() }
        for viewer in viewers { viewer.object?.frameChanged() }
    }
}

extension AnimationPlayer {
    /// Creates a player for your own drawing code: `onFrame` is called when `currentFrame` has changed. Playback starts
    /// with `play()`.
    /// - Returns: `nil` if the image is not animated.
    public convenience init?(_ image: WebImage, _ playback: ImagePlayback = ImagePlayback()) {
        self.init(
            image,
            playback,
            clock: MainLoopClock.shared,
            queue: SharedPlayer.queue,
            budget: SharedPlayer.budget,
            dispatcher: MainLoopDispatcher.shared
        )
    }

    /// The bytes of frames that the animations of all widgets have decoded ahead.
    package nonisolated static var bufferedByteCount: Int { SharedPlayer.budget.used }

    /// The limit of `bufferedByteCount`: a sixteenth of the memory of the machine, at most 192 MiB. The current and the
    /// next frame of each animation are not included.
    package nonisolated static var bufferLimit: Int { SharedPlayer.budget.limit }
}
