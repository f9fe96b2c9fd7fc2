import WebImageCore

// An image with a URL for a dark style follows the style of the app.
extension ImageSlot {
    /// The slots that have had such an image.
    private static var followers: [ObjectIdentifier: Weak<ImageSlot>] = [:]
    private static var isFollowing = false

    /// Notes the style for a load that has an image for a dark style and is about to look for its image.
    /// - Returns: Whether the load was prepared for another style.
    @discardableResult
    func noteStyle() -> Bool {
        follow()
        let isDark = DarkStyle.isOn
        defer { current?.isDark = isDark }
        return current?.isDark != isDark
    }

    private func follow() {
        guard Self.followers[ObjectIdentifier(self)]?.object == nil else { return }
        // Entries of slots that are gone are removed now and then, so that a long list costs little.
        if Self.followers.count % 256 == 255 { Self.followers = Self.followers.filter { $0.value.object != nil } }
        Self.followers[ObjectIdentifier(self)] = Weak(object: self)
        guard !Self.isFollowing else { return }
        Self.isFollowing = true
        DarkStyle.observe { for follower in Self.followers.values { follower.object?.styleChanged() } }
    }

    /// Loads the image of the other style. A load that waits takes it when it starts.
    private func styleChanged() {
        guard let load = current, load.hasDarkImage, load.isDark != DarkStyle.isOn, !load.task.isCancelled else {
            return
        }
        switch load.state {
        case .shown, .failed:
            // An app that shows its images itself has received its image.
            if load.request.options.display != .manual { restart(load) }
        case .loading:
            (load.partialImage, load.showsPartialImage, load.showsPreview) = (nil, false, false)
            endLoading()
            load.task.stop()
            startTask(decodeSize ?? .original)
        case .waitingForMap, .waitingForLayout, .suspended, .detached: break
        }
    }
}
