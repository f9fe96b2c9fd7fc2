internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

// Events of the widget and its content.
extension ImageSlot: ContentObserving {
    /// Handles that the child was hidden, or replaced by the app. Then the widget itself counts, and a load that has
    /// waited for the child continues for its completion.
    func areaChanged() {
        // This runs in a later turn, when the change is over.
        MainLoopDispatcher.shared.dispatch { [weak self] in
            MainActor.assumeIsolated {
                guard let self else { return }
                let isAreaMapped = self.target.area.map { gtk_widget_get_mapped($0) != 0 }
                if isAreaMapped == false { self.target.content?.widgetUnmapped() }
                if self.isMapped == false { return self.widgetUnmapped() }
                if case .waitingForMap = self.current?.state { self.widgetMapped() }
            }
        }
    }

    func indicatorDidAppear() { target.changed() }

    func widgetMapped() {
        target.content?.widgetMapped()
        guard isMapped == true else { return }
        startPlaceholderIfVisible()
        current?.allowRefinement()
        guard let load = current, let pointer = widget?.pointer else { return }
        switch load.state {
        case .waitingForMap:
            // Lists map rows in passing and unmap them within the same layout. Such rows are not worth a request.
            if !load.task.isCancelled { waitForLayout(pointer) }
        case .loading:
            load.task.priority = load.image.onScreenPriority
        case .suspended:
            // The widget may have been moved.
            widgetResumed()
        case .detached:
            // The completions have already received their cancellation.
            restart(load)
        case .shown, .failed:
            // The load has failed for a reason that may have passed.
            if load.networkObservation != nil { restart(load) }
        case .waitingForLayout:
            break
        }
    }

    /// Lets visible widgets load first. Lists and stacks map widgets again, so the load ends only if the app asks for that.
    func widgetUnmapped() {
        target.content?.widgetUnmapped()
        placeholderLoad?.stop()
        guard let load = current else { return }
        switch load.state {
        case .waitingForLayout:
            current?.state = .waitingForMap
        case .loading where load.request.options.start == .onlyWhileMapped:
            current?.state = .waitingForMap
            endLoading()
            load.task.stop()
        case .loading:
            load.task.priority = load.image.offScreenPriority
        case .waitingForMap, .suspended, .shown, .failed, .detached:
            break
        }
    }

    /// Starts the load that waited while the loads of the widget were suspended.
    func widgetResumed() {
        startPlaceholderIfVisible()
        guard let load = current, case .suspended = load.state, !load.task.isCancelled else { return }
        startWhenLaidOut(decodeSize)
    }

    func widgetUnrooted() {
        current?.cancelRefinement()
        placeholderLoad?.stop()
        // A load that the app has cancelled must not restart in another window.
        guard current?.task.isCancelled == false else { return }
        switch current?.state {
        case .waitingForMap, .waitingForLayout, .suspended, .loading:
            // The load is ignored from now on. The task calls its completions itself.
            current?.state = .detached
            endLoading()
            let task = current?.task
            task?.cancel()
            updateProgress(of: task) { $0.reset(to: .idle) }
        case nil, .shown, .failed, .detached:
            break
        }
    }

    func widgetClicked() {
        if configuration.retriesOnClick { restartFailed(.user) }
    }
}
