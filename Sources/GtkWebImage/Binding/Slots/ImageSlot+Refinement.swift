internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

// Refinement: the image was drawn larger than it was decoded.
extension ImageSlot {
    /// Runs within GTK's snapshot, so it must not change any widget.
    func didDraw(width: Double, height: Double) {
        guard let image = target.image, !image.isPartial, let area = target.area else { return }
        let scale = area.deviceScale
        // 10 % slack: slight upscaling is invisible, and resizing a window must not decode at every step.
        let isTooSmall =
            Double(image.decodedSize.width) * 1.1 < width * scale
            && Double(image.decodedSize.height) * 1.1 < height * scale
        if isTooSmall, image.decodedSize.width < image.naturalSizeBeforeTransform.width { refineIfNeeded(image) }
    }

    private func refineIfNeeded(_ image: WebImage) {
        guard let load = current, load.canRefine, let size = load.decodeSize(in: target),
            size.target(for: image.naturalSizeBeforeTransform) != image.decodedSize
        else { return }
        MainLoopDispatcher.shared.dispatch { [weak self] in
            MainActor.assumeIsolated { self?.refine(load.task, size) }
        }
    }

    private func refine(_ task: ImageTask, _ size: DecodeSize) {
        guard let load = current, load.task === task, load.canRefine else { return }
        let completion: Completion = { [weak self] result in
            guard let self, current?.task === task, case .loading = current?.refinement else { return }
            switch result {
            case .success(let response):
                current?.refinement = .idle
                show(response.image, animated: false, .sameImage)
            case .failure(let error):
                current?.refinement = error.isCancelled ? .idle : .failed
            }
        }
        let refining = load.request.manager.makeTask(
            for: load.makeRequest(size, for: widget),
            handlers: .mainActor(progress: nil, partial: nil, completion: completion)
        )
        current?.refinement = .loading(refining)
        refining.start()
    }
}
