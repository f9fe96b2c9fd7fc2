internal import CWebImageGtk4
import WebImageCore

// What happens to the widget.
extension ImageSlot {
    func widgetMapped() {
        target.content?.widgetMapped()
        guard let request, let pointer = widget?.pointer else { return }
        switch stage {
        case .unmapped:
            // Lists map rows in passing and unmap them within the same layout; those are not worth a request.
            if let load, !load.isCancelled { waitForLayout(pointer) }
        case .loading:
            load?.setPriority(request.image.map { Self.priority(of: $0) } ?? .high)
        case .detached:
            // Its completions have had their cancel; the image comes back all the same.
            let again = ImageLoad(request.url)
            self.load = again
            begin(again, request)
        case .idle, .unsized, .shown, .failed:
            break
        }
    }

    /// Off screen is no reason to give up: lists and stacks come back. It lets the visible ones go first, unless the
    /// app wants it to rest.
    func widgetUnmapped() {
        target.content?.widgetUnmapped()
        switch stage {
        case .unsized: stage = .unmapped
        case .loading:
            if request?.options.start == .onlyWhileMapped {
                stage = .unmapped
                endLoading()
                attempt += 1
                load?.pause()
            } else {
                load?.setPriority(.low)
            }
        case .idle, .unmapped, .shown, .failed, .detached: break
        }
    }

    func widgetUnrooted() {
        refinement?.cancel()
        refinement = nil
        switch stage {
        case .unmapped, .unsized, .loading:
            // Taken out first: the cancelled load touches nothing any more.
            let ended = load
            load = nil
            stage = .detached
            endLoading()
            ended?.cancel()
        case .idle, .shown, .failed, .detached:
            break
        }
    }

    /// An image that could not be had is tried again when the user asks for it.
    func widgetClicked() {
        if appearance.isRetriedOnClick { beginAgain(isAsked: true) }
    }

    func waitForLayout(_ pointer: UnsafeMutablePointer<GtkWidget>) {
        stage = .unsized
        LayoutWaiter.wait(for: pointer) { [weak self] in
            guard let self, case .unsized = self.stage, let load = self.load, !load.isCancelled,
                let request = self.request
            else { return }
            // A widget that has no size of its own gets that of its image.
            self.start(load, self.decodeSize(request) ?? .original)
        }
    }
}
