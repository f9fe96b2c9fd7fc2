import WebImageCore

extension ImageSlot {
    func receive(partial image: WebImage, of task: ImageTask) {
        guard let load = current, isCurrent(task) else { return }
        // A load that an unmap has interrupted starts from nothing, while the widget still shows what had arrived.
        if image.isThumbnail, load.showsPartialImage, load.partialImage?.isThumbnail == false { return }
        load.partialImage = image
        let requests = load.requests
        showPartial(image)
        for request in requests where isCurrent(task) { request.partial?(image) }
    }

    func showPartial(_ image: WebImage) {
        // The first partial image may appear with a transition. Later ones only get sharper and must not blink.
        let isContinued = current?.showsPartialImage == true
        let animated = target.image == nil && configuration.transition?.isForNetworkOnly != true
        show(image, animated: animated, isContinued ? .sameImage : .newImage)
        current?.showsPartialImage = true
        current?.showsPreview = image.isPreview
    }
}
