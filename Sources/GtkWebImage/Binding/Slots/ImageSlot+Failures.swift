import WebImageCore
import WebImageLinux

// Placeholders, failures and the loads that follow them.
extension ImageSlot {
    func showFailure(_ load: SlotLoad) {
        accessibility.setFailed(true, of: widget)
        guard load.request.options.display != .manual, !load.showsPreview else { return }
        if let placeholder = configuration.errorPlaceholder {
            placeholders.show(placeholder, load.request.manager, decodeSize: load.decodeSize(in: target))
        } else if load.request.options.whileLoading == .currentImage {
            showPlaceholder(load)
        }
    }

    func showPlaceholder(_ load: SlotLoad) {
        let placeholder = load.request.placeholder
        if placeholder == nil, load.request.options.whileLoading == .placeholderOrCurrentImage { return }
        placeholders.show(placeholder, load.request.manager, decodeSize: load.decodeSize(in: target))
    }

    /// Loads the image again when the network is back. The completions have received their error by then.
    func restartWhenOnline(_ manager: ImageManager) {
        current?.networkObservation = manager.observeNetwork { [weak self] status in
            guard status.isAvailable else { return }
            MainLoopDispatcher.shared.dispatch {
                MainActor.assumeIsolated {
                    guard let self, self.current?.networkObservation != nil else { return }
                    self.restartFailed(.network)
                }
            }
        }
    }

    func restartFailed(_ trigger: Trigger) {
        guard let load = current, case .failed = load.state else { return }
        restart(load, ignoresFailureCache: trigger == .user)
    }

    /// Replaces a load that has ended by another one of the same request, without its handlers: the completion was
    /// called, and no handler is called after it.
    func restart(_ ended: SlotLoad, ignoresFailureCache: Bool = false) {
        placeholders.cancel()
        ended.cancelRefinement()
        let task = ended.request.manager.makeParentTask(for: ended.image.onScreen)
        var load = SlotLoad(task: task, request: ended.request.withoutHandlers, image: ended.image)
        load.ignoresFailureCache = ignoresFailureCache
        prepareLoad(load)
    }
}

extension ImageError {
    /// Whether the network may be missing, rather than the image.
    var isConnectivityFailure: Bool { [.offline, .hostNotFound, .connectionFailed].contains(code) }
}
