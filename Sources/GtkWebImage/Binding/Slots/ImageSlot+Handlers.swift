import WebImageCore
import WebImageLinux

// The handlers of the app, and the progress that it observes.
extension ImageSlot {
    /// Drops the handlers at the end, because they may capture the widget, and so the slot.
    func dropHandlersAtEnd(of task: ImageTask) {
        task.addCompletion { [weak self] _ in
            MainActor.assumeIsolated {
                guard let self, self.current?.task === task else { return }
                withExtendedLifetime(self.current?.dropHandlers()) {}
            }
        }
    }

    func addHandlers(of request: BindingRequest) {
        if current?.hasHandlers == false, let task = current?.task { dropHandlersAtEnd(of: task) }
        switch current?.state {
        case .waitingForMap, .waitingForLayout, .suspended:
            current?.join(request)
        case .loading:
            current?.join(request)
            if request.progress != nil { reportProgress() }
            // The handler may set another image, so it is called last.
            if let image = current?.partialImage { request.partial?(image) }
        // No handler is called after the end.
        case .shown, .failed, .detached, nil: break
        }
    }

    /// The progress of all loads of this slot, for the app to observe.
    func observedProgress() -> ImageProgress {
        if let progress { return progress }
        let new = ImageProgress()
        progress = new
        if let state = presentState { new.reset(to: state) }
        if case .loading = current?.state { reportProgress() }
        if let task = current?.task { followCancellation(of: task) }
        return new
    }

    /// The state for an observer of the progress; `nil` for the initial state.
    var presentState: ImageProgress.State? {
        switch current?.state {
        case .shown: .shown
        case .failed(let error): error.isCancelled ? nil : .failed(error)
        case .waitingForMap, .waitingForLayout, .suspended, .loading: .loading
        case .detached: nil
        case nil: target.image == nil ? nil : .shown
        }
    }

    /// Tells the observers of the progress that a load was cancelled, even if it was not started.
    func followCancellation(of task: ImageTask) {
        task.addCompletion { [weak self] result in
            guard case .failure(let error) = result, error.isCancelled else { return }
            MainActor.assumeIsolated {
                guard let self, let current = self.current, current.task === task else { return }
                // The image is in place. Only the wait for its transition was cancelled.
                if case .shown = current.state { return }
                self.progress?.end(with: error)
            }
        }
    }

    /// Starts to report the progress of a load that was started without.
    private func reportProgress() {
        // The total of a sequence of images is not known.
        guard let load = current, load.request.sequence == nil else { return }
        let task = load.task
        let handler = progressHandler(of: task)
        if let known = task.reportProgress(to: handler) { handler(known.received, known.expected) }
    }

    /// Each report costs a turn of the main loop, so a load has a handler only if its progress is used.
    func progressHandler(of task: ImageTask) -> @MainActor @Sendable (Int64, Int64?) -> Void {
        { [weak self] received, expected in
            guard let self, let load = current, load.task === task else { return }
            target.content?.setProgress(expected.map { $0 > 0 ? min(Double(received) / Double($0), 1) : 0 })
            progress?.set(received, expected)
            for request in load.requests where isCurrent(task) { request.progress?(received, expected) }
        }
    }
}
