internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

// Placeholders, failures and the loads that follow them.
extension ImageSlot {
    /// Shows that a load has failed, then completes its task.
    func fail(_ load: SlotLoad, _ error: ImageError) {
        load.state = .failed(error)
        updateProgress(of: load.task) { $0.end(with: error) }
        if current === load {
            if !error.isCancelled { showFailure() }
            restartLater(after: error)
        }
        load.task.complete(.failure(error))
    }

    private func showFailure() {
        accessibility.hasFailed = true
        guard let load = current, load.request.options.display != .manual, !load.showsPreview else { return }
        if let placeholder = configuration.errorPlaceholder {
            let keepsPreview = load.request.options.whileLoading != .currentImage
            show(placeholder, load.manager, keepsPreview: keepsPreview)
        } else if load.request.options.whileLoading == .currentImage, load.request.placeholder != nil {
            showPlaceholder()
        }
        startPlaceholderIfVisible()
    }

    /// Replaces the placeholder of the load, also on display.
    func replacePlaceholder(_ placeholder: ImagePlaceholder?) {
        current?.request.placeholder = placeholder
        if target.image == nil { showPlaceholder() }
    }

    /// Loads a placeholder given by a URL if it does not belong to a load that will start. If the widget is hidden or
    /// its loads are suspended, the placeholder is loaded after that.
    func startPlaceholderIfVisible() {
        guard let placeholderLoad, placeholderLoad.isWaiting, current?.isToStart != true else { return }
        if let widget {
            guard isMapped == true, let pointer = widget.pointer, !SuspendedWidgets.contain(pointer) else { return }
        }
        placeholderLoad.start(at: decodeSize ?? .original)
    }

    /// After a temporary error, loads the image again when the network is back, and after a while, because host names
    /// do not resolve at once after that. The completions have received their error or a fallback by then.
    func restartLater(after error: ImageError) {
        guard error.isTransient else { return laterRetry.cancel() }
        laterRetry.schedule { [weak self] in
            // Otherwise the image is loaded once the widget is mapped.
            if self?.isMapped != false { self?.restartFailed(.network) }
        }
        let manager = current?.manager
        let restart: @Sendable (ImageNetworkStatus) -> Void = { [weak self] status in
            guard status.isAvailable else { return }
            MainLoopDispatcher.shared.dispatch {
                MainActor.assumeIsolated {
                    guard let self, self.current?.networkObservation != nil else { return }
                    self.restartFailed(.network)
                }
            }
        }
        current?.networkObservation = manager?.observeNetwork(restart)
        // The network may have come back since the load was decided.
        if error.isOfNetworkStatus, let status = manager?.networkStatus { restart(status) }
    }

    /// Whether the image of a load is on display, or the previous image that the load leaves there until it has its own.
    func stillKeepsImage(_ load: SlotLoad) -> Bool { load.isShown || load.keepsImage && target.image != nil }

    func restartFailed(_ trigger: Trigger) {
        guard let load = current else { return }
        if case .failed = load.state { return restart(load, ignoresFailureCache: trigger == .user) }
        if trigger == .network, load.isFallbackShown { restart(load) }
    }

    /// Replaces an ended load by a new load of the same request, without its handlers: the completion was already
    /// called, and no handler may be called after it.
    func restart(_ ended: SlotLoad, ignoresFailureCache: Bool = false) {
        placeholderLoad = nil
        let load = SlotLoad(of: ended.image, for: ended.request.withoutHandlers, by: ended.manager)
        load.ignoresFailureCache = ignoresFailureCache
        load.keepsImage = stillKeepsImage(ended)
        current = load
        prepareLoad()
    }
}

extension ImageError {
    /// The error of a call without a URL.
    static func noURL(remedy: String) -> ImageError {
        ImageError(.invalidURL, url: nil, reason: "There is no URL", remedy: remedy)
    }
}
