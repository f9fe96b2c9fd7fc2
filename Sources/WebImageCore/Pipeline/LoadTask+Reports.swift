import Synchronization

// Progress and partial images. Each report leads to at most one turn of the dispatcher.
extension LoadTask {
    var wantsPartialImages: Bool { request.loading == .progressive && showsPartialImages }

    /// Whether the thumbnail in the file would be shown.
    var wantsThumbnail: Bool {
        wantsPartialImages && state.withLock { $0.preview.rawValue < ImagePreview.thumbnail.rawValue }
    }

    var showsPartialImages: Bool { state.withLock { $0.receiver?.partial != nil } }

    /// Whether a cached image is shown until the server has answered.
    var wantsPreview: Bool { state.withLock { $0.receiver?.partial != nil && !$0.hasCachedImage } }

    func report(received: Int64, expected: Int64?) {
        let isFirst = state.withLock { state in
            state.progress = (received, expected)
            guard state.receiver?.progress != nil, !state.deliversProgress else { return false }
            state.deliversProgress = true
            return true
        }
        if isFirst { dispatcher.dispatch { self.deliverProgress() } }
    }

    /// Shows an image, unless a better preview is already shown.
    func report(partial: WebImage, as preview: ImagePreview = .partial) {
        let (isFirst, replaced) = state.withLock { state -> (Bool, WebImage?) in
            guard state.receiver?.partial != nil,
                preview == .partial || preview.rawValue > state.preview.rawValue
            else { return (false, nil) }
            state.preview = preview
            let replaced = exchange(&state.partial, with: partial)
            return (replaced == nil, replaced)
        }
        if isFirst { dispatcher.dispatch { self.deliverPartial() } }
        withExtendedLifetime(replaced) {}
    }

    /// Shows an image within this call if the caller is on the thread of the callbacks.
    func reportNow(partial: WebImage) {
        state.withLock { ($0.hasCachedImage, $0.preview) = (true, .partial) }
        guard dispatcher.isCurrent else { return report(partial: partial) }
        state.withLock { $0.isCancelled ? nil : $0.receiver }?.partial?(partial)
    }

    /// Makes the load of a binding report its progress to another handler from now on.
    /// - Parameter handler: Replaces the current progress handler.
    /// - Returns: The progress so far; `nil` before the first report.
    package func reportProgress(
        to handler: @escaping @MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    ) -> (received: Int64, expected: Int64?)? {
        var known: (received: Int64, expected: Int64?)?
        for case let task as LoadTask in state.withLock({ $0.isRunning ? [self] : $0.children }) {
            let (progress, replaced) = task.state.withLock { state in
                defer { state.receiver?.progress = LoadHandlers.mainActor(progress: handler) { _ in }.progress }
                return (state.progress, state.receiver)
            }
            withExtendedLifetime(replaced) { known = progress ?? known }
        }
        return known
    }

    private func deliverProgress() {
        let (progress, handlers) = state.withLock { state in
            state.deliversProgress = false
            return (state.progress, state.isCancelled ? nil : state.receiver)
        }
        if let progress { handlers?.progress?(progress.received, progress.expected) }
    }

    private func deliverPartial() {
        let (partial, handlers) = state.withLock { state in
            defer { state.partial = nil }
            return (state.partial, state.isCancelled ? nil : state.receiver)
        }
        if let partial { handlers?.partial?(partial) }
    }
}
