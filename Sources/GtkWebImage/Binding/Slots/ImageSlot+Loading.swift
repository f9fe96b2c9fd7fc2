internal import CWebImageGtk4
import FoundationEssentials
import WebImageCore
import WebImageLinux

// From the start of a load to the image in its place.
extension ImageSlot {
    func start(_ load: ImageLoad, _ size: DecodeSize) {
        guard let request, let image = request.image else { return }
        stage = .loading
        attempt += 1
        let attempt = attempt
        beginLoading()
        if let sequence = request.sequence { return start(sequence, request, image, load, size) }
        let task = request.manager.load(
            makeRequest(request, image, size),
            progress: progressHandler(request, load),
            partial: { [weak self] image in
                MainActor.assumeIsolated { self?.show(partial: image, load) }
            },
            completion: { [weak self] result in
                MainActor.assumeIsolated {
                    guard let self, self.load === load else { return load.finish(result) }
                    // An earlier attempt may have been broken off; the load goes on.
                    if attempt == self.attempt { self.finish(load, result) }
                }
            }
        )
        load.attach(task)
    }

    /// Loads all images of a sequence side by side, and shows what there is of it.
    private func start(
        _ sequence: ImageSequence,
        _ request: BindingRequest,
        _ image: ImageRequest,
        _ load: ImageLoad,
        _ size: DecodeSize
    ) {
        let arriving = SequenceLoad(sequence)
        let attempt = attempt
        for (index, url) in sequence.urls.enumerated() {
            var one = image
            one.url = url
            let task = request.manager.load(makeRequest(request, one, size)) { [weak self] result in
                MainActor.assumeIsolated {
                    arriving.add(result, at: index)
                    guard let self, self.load === load else {
                        if arriving.isComplete { load.finish(arriving.result) }
                        return
                    }
                    guard attempt == self.attempt, !load.isCancelled else { return }
                    if arriving.isComplete {
                        self.finish(load, arriving.result)
                    } else if let image = arriving.image {
                        self.show(part: image)
                    }
                }
            }
            load.attach(task)
        }
    }

    private func progressHandler(
        _ request: BindingRequest,
        _ load: ImageLoad
    ) -> (@Sendable (Int64, Int64?) -> Void)? {
        // Each report costs a turn of the main loop; most widgets do not want any.
        guard request.progress != nil || progress != nil || appearance.indicator != nil else { return nil }
        return { [weak self] received, expected in
            MainActor.assumeIsolated {
                guard let self, self.load === load else { return }
                let fraction = expected.map { $0 > 0 ? min(Double(received) / Double($0), 1) : 0 }
                self.target.content?.setProgress(fraction)
                self.progress?.set(received, expected)
                request.progress?(received, expected)
            }
        }
    }

    /// Puts an image into the widget.
    /// - Parameter isContinued: Whether it is the image that is shown, in more pixels.
    func show(_ image: WebImage, isFromMemory: Bool, isContinued: Bool = false, onEnd: (() -> Void)? = nil) {
        guard let request, request.options.display != .manual, target.attach() else {
            onEnd?()
            return
        }
        let isMoving = !isFromMemory || request.options.display == .animated
        let transition = isMoving ? appearance.transition : nil
        target.content?.show(image, transition: transition, isContinued: isContinued, onEnd: onEnd)
        target.changed()
    }

    private func show(partial image: WebImage, _ load: ImageLoad) {
        guard self.load === load, !load.isCancelled, let request else { return }
        show(part: image)
        request.partial?(image)
    }

    private func show(part image: WebImage) {
        // The first thing that is seen may come in gently; what only gets sharper must not blink.
        show(image, isFromMemory: target.image != nil, isContinued: showsOwnPart)
        showsOwnPart = true
    }

    /// Puts the image in place, then tells.
    func finish(_ load: ImageLoad, _ result: Result<ImageResponse, ImageError>) {
        guard let request else { return load.finish(result) }
        endLoading()
        switch result {
        case .success(let response):
            stage = .shown(response)
            progress?.finish()
            setFailure(nil)
            let waits = request.options.awaitsTransition
            let isContinued = showsOwnPart
            let isSharper = isContinued && request.options.display != .animated
            let isFromMemory = response.source == .memory || isSharper
            show(response.image, isFromMemory: isFromMemory, isContinued: isContinued) {
                if waits { load.finish(result) }
            }
            if !waits { load.finish(result) }
        case .failure(let error):
            stage = .failed
            if !error.isCancelled { showFailure(error, request) }
            if error.isForWantOfNetwork { awaitNetwork(request.manager) }
            load.finish(result)
        }
    }

    private func showFailure(_ error: ImageError, _ request: BindingRequest) {
        setFailure(error)
        guard request.options.display != .manual else { return }
        if let placeholder = appearance.errorPlaceholder {
            show(placeholder, in: request)
        } else if request.options.whileLoading == .currentImage {
            showPlaceholder(request)
        }
    }

    /// The completions have had their error; the image comes all the same when the network is back.
    private func awaitNetwork(_ manager: ImageManager) {
        networkObservation = manager.observeNetwork { [weak self] status in
            guard status.isAvailable else { return }
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { self?.networkReturned() } }
        }
    }

    private func networkReturned() {
        guard networkObservation != nil else { return }
        networkObservation = nil
        beginAgain()
    }

    /// Tries once more what has failed.
    /// - Parameter isAsked: Whether somebody asked for it; then a failure that is remembered does not count.
    func beginAgain(isAsked: Bool = false) {
        guard case .failed = stage, let request, request.image != nil else { return }
        ignoresFailures = isAsked
        networkObservation = nil
        let again = ImageLoad(request.url)
        load = again
        begin(again, request)
    }

    // What is seen and heard of a load under way.

    func beginLoading() {
        target.content?.beginLoading(appearance.indicator)
        if appearance.indicator != nil { target.changed() }
        setBusy(true)
    }

    func endLoading() {
        target.content?.endLoading()
        if appearance.indicator != nil { target.changed() }
        setBusy(false)
    }

    private func setBusy(_ isBusy: Bool) {
        guard isBusy != self.isBusy else { return }
        self.isBusy = isBusy
        widget?.pointer?.setBusy(isBusy)
    }

    func setFailure(_ error: ImageError?) {
        guard (error != nil) != hasSaidFailure else { return }
        hasSaidFailure = error != nil
        widget?.pointer?.setDescription(error == nil ? nil : ImageAccessibility.failureDescription)
    }
}

// Larger than it was decoded.
extension ImageSlot {
    /// Within GTK's snapshot; so nothing is changed.
    func drawn(_ width: Double, _ height: Double) {
        guard let image = target.image, !image.isPartial, let area = target.area else { return }
        let scale = Double(gtk_widget_get_scale_factor(area))
        // A tenth is not seen, and a resized window does not decode at every step.
        let isTooSmall =
            Double(image.decodedSize.width) * 1.1 < width * scale
            && Double(image.decodedSize.height) * 1.1 < height * scale
        if isTooSmall, image.decodedSize.width < image.naturalSizeBeforeTransform.width { outgrown() }
    }

    private func outgrown() {
        guard refinement == nil, !hasFailedRefinement, case .shown = stage, let request, request.image != nil,
            request.sequence == nil, let load,
            request.options.display != .manual, let size = decodeSize(request),
            let image = target.image, size.target(for: image.naturalSizeBeforeTransform) != image.decodedSize
        else { return }
        MainLoopDispatcher.shared.dispatch { [weak self] in
            MainActor.assumeIsolated { self?.refine(request, size, load) }
        }
    }

    private func refine(_ request: BindingRequest, _ size: DecodeSize, _ load: ImageLoad) {
        guard self.load === load, refinement == nil, case .shown = stage, let image = request.image else { return }
        refinement = request.manager.load(makeRequest(request, image, size)) { [weak self] result in
            MainActor.assumeIsolated {
                guard let self, self.load === load else { return }
                self.refinement = nil
                switch result {
                case .success(let response): self.show(response.image, isFromMemory: true, isContinued: true)
                case .failure(let error): self.hasFailedRefinement = !error.isCancelled
                }
            }
        }
    }
}

extension ImageError {
    /// Whether it may be the network that is missing, not the image.
    fileprivate var isForWantOfNetwork: Bool { [.offline, .hostNotFound, .connectionFailed].contains(code) }
}
