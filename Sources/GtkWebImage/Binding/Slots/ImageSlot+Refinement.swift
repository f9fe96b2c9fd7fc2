internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

// Refinement: the image was drawn larger than it was decoded. A larger file may be loaded if the image has several.
extension ImageSlot {
    /// Runs within GTK's snapshot, so it must not change widgets.
    func didDraw(width: Double, height: Double) {
        guard let image = target.image, !image.isPartial, let area = target.area else { return }
        let scale = area.deviceScale
        // 10 % slack: slight upscaling is invisible, and resizing a window must not decode at every step.
        let isTooNarrow = Double(image.decodedSize.width) * 1.1 < width * scale
        let isTooLow = Double(image.decodedSize.height) * 1.1 < height * scale
        if isTooNarrow && isTooLow || (isTooNarrow || isTooLow) && isStretched(image) { refineIfNeeded(image) }
    }

    /// Whether an image was decoded with other proportions than its file, so that each side counts.
    private func isStretched(_ image: WebImage) -> Bool {
        if case .stretch = decodeSize { image.hasMorePixels } else { false }
    }

    private func refineIfNeeded(_ image: WebImage) {
        guard let load = current, load.variantRank != nil || image.hasMorePixels, load.canRefine,
            let size = decodeSize
        else { return }
        let isCoarse = image.hasMorePixels && size.target(for: image.naturalSizeBeforeTransform) != image.decodedSize
        guard isCoarse || hasLargerVariant(for: size, of: load) else { return }
        let task = load.task
        MainLoopDispatcher.shared.dispatch { [weak self] in
            MainActor.assumeIsolated { self?.refine(task, size) }
        }
    }

    /// Whether an image with several files has a file that fits a size better than the loaded one.
    private func hasLargerVariant(for size: DecodeSize, of load: SlotLoad) -> Bool {
        guard let loaded = load.variantRank else { return false }
        return load.manager.variantRank(for: makeRequest(for: load, at: size)).map { $0 > loaded } ?? false
    }

    private func refine(_ task: ImageTask, _ size: DecodeSize) {
        guard let load = current, load.task === task, load.canRefine else { return }
        if let pointer = widget?.pointer, SuspendedWidgets.contain(pointer) { return }
        let completion: Completion = { [weak self] result in
            guard let self, current?.task === task, case .loading = current?.refinement else { return }
            switch result {
            case .success(let response):
                current?.refinement = .idle
                if current?.isFallbackShown != true { laterRetry.cancel() }
                showRefined(response.image)
            case .failure(let error):
                current?.refinement = error.isCancelled ? .idle : .failed(isTransient: error.isTransient)
                // After a fallback, the image itself is loaded later.
                if error.isTransient, current?.isFallbackShown != true { refineLater() }
            }
        }
        let refining = load.manager.makeTask(
            for: makeRequest(for: load, at: size),
            handlers: .mainActor(completion: completion)
        )
        current?.refinement = .loading(refining)
        current?.variantRank = refining.request.variantRank
        refining.start()
    }

    /// Allows another refinement after a while, which the next drawing starts.
    private func refineLater() {
        laterRetry.schedule { [weak self] in
            self?.current?.allowRefinement()
            self?.target.content?.redraw()
        }
    }

    /// Shows the same image with more pixels. The widget keeps its size, even if the larger file states another one.
    private func showRefined(_ image: WebImage) {
        guard let shown = target.image else { return }
        guard current?.variantRank != nil else { return show(image, animated: false, .sameImage) }
        // The server may have fewer pixels than it promised.
        guard image.decodedSize.pixelCount > shown.decodedSize.pixelCount else { return }
        let scale = Double(image.naturalSize.width) / shown.logicalWidth
        show(image.with(scale: scale), animated: false, .sameImage)
    }
}

extension SlotLoad {
    /// The load of the same image with more pixels, after it was drawn larger than it was decoded.
    enum Refinement: Sendable {
        case idle
        case loading(ImageTask)
        /// It is not retried, or each frame would start a load. After a temporary failure it is retried when the widget
        /// is mapped or the image is set, and after a while.
        case failed(isTransient: Bool)
    }

    var canRefine: Bool {
        guard case .shown = state, case .idle = refinement else { return false }
        return request.sequence == nil && request.options.display != .manual
    }

    func cancelRefinement() {
        if case .loading(let task) = refinement { task.cancel() }
        refinement = .idle
    }

    /// Allows another refinement after a temporary failure.
    func allowRefinement() {
        if case .failed(isTransient: true) = refinement { refinement = .idle }
    }
}

extension WebImage {
    /// Whether the image was decoded at a smaller size than its file.
    fileprivate var hasMorePixels: Bool {
        decodedSize.width < naturalSizeBeforeTransform.width || decodedSize.height < naturalSizeBeforeTransform.height
    }
}
