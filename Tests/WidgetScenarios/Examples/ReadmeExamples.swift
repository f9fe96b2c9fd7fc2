internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of README.md, compiled. What they do not declare is a parameter here.

@MainActor
private func showAnImage(url: URL) {
    let picture = Picture()
    picture.setImage(with: url)

    picture.setImage(
        with: ImageRequest(url: url, loading: .progressive),
        placeholder: .icon("image-x-generic-symbolic"),
        progress: { received, expected in print(received, expected ?? 0) },
        completion: { result in
            switch result {
            case .success(let response): print(response.image.pixelSize, response.source)
            case .failure(let error): print(error)
            }
        }
    )

    picture.cancelCurrentImageLoad()
}

@MainActor
private func awaitAnImage(url: URL, picture: Picture) async throws {
    let response = try await picture.setImage(with: url).response
    let image = try await ImageManager.shared.image(for: url)
    _ = (response, image)
}

@MainActor
private func onAButton(url: URL, button: Button, picture: Picture) {
    button.setImage(with: url)
    button.setImage(with: url, for: .normal)
    button.setBackgroundImage(with: url)
    button.fixedImageSize = (48, 48)
    picture.setImage(with: ImageRequest(url: url, transformer: .circle(border: ImageBorder(width: 2, color: .white))))
    let crop = ImageTransformer.resize(to: PixelSize(width: 400, height: 300), .cover)
    picture.setImage(with: ImageRequest(url: url, transformer: crop + .rounded(12)))
    picture.setImage(with: url, placeholder: .blurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj"))

    picture.imageTransition = .crossfade(duration: .milliseconds(200))
    picture.imageIndicator = .progress
    picture.errorPlaceholder = .icon("image-missing-symbolic")
    picture.retriesImageOnClick = true
    picture.animationPlayer?.pause()
}

@MainActor
private func inAnyWidget(url: URL, picture: Picture, entry: Entry, avatar: OpaquePointer) {
    let window = avatar
    picture.setHighlightedImage(with: url)
    entry.setIcon(with: url, at: .secondary)
    WidgetPointer(avatar).setImage(with: url)
    WidgetPointer(window).setImage(with: url)

    picture.setImageDescription("A lighthouse")

    let paintable = ImagePaintable()
    paintable.setImage(with: url)
}

@MainActor
private func animated(url: URL, urls: [URL], picture: Picture) {
    picture.imagePlayback.loopCount = 1
    picture.setAnimationImages(with: urls)
}

@MainActor
private func inAList(urls: [URL], grid: OpaquePointer, item: OpaquePointer, url: URL) {
    let factory = ImageListFactory(width: 160, height: 120) { position in urls[position] }
    gtk_grid_view_set_factory(grid, OpaquePointer(factory.nativeFactoryPointer))

    let prefetcher = ListPrefetcher(view: UnsafeMutableRawPointer(grid)) { position in
        ImageRequest(url: urls[position])
    }
    _ = prefetcher
    WidgetPointer(gtk_list_item_get_child(item)).setImage(with: url)
    WidgetPointer(gtk_list_item_get_child(item)).cancelCurrentImageLoad()
}

@MainActor
private func bindAnything(widget: WidgetPointer, native: OpaquePointer, url: URL) {
    widget.bindImage(with: url) { paintable in
        gtk_image_set_from_paintable(native, OpaquePointer(paintable.nativePaintablePointer))
    }
}

private func prefetch(urls: [URL]) {
    ImagePrefetcher.shared.prefetch(urls)
}

@MainActor
private func refresh(picture: Picture, url: URL) {
    picture.setImage(with: ImageRequest(url: url, cachePolicy: .refresh))
    picture.setImage(with: ImageRequest(url: url, retry: .always))
}

private func overTheNetwork(url: URL, other: URL, small: URL, token: String, secret: String) async throws {
    ImageDownloader.shared.configuration.headerFilter = { url, headers in
        guard url.host() == "images.example.org" else { return headers }
        return headers.merging(["Authorization": "Bearer \(token)"]) { _, new in new }
    }
    ImageDownloader.shared.configuration.maximumConcurrentTransfers = 8

    var request = ImageRequest(url: url)
    request.networkOptions.credential = NetworkOptions.Credential(user: "me", password: secret)
    request.fallbackURLs = [other]
    request.lowDataURL = small
    let response = try await ImageManager.shared.response(for: request)
    print(response.source, response.metrics?.firstByte ?? .zero)

    var configuration = ImageManager.Configuration()
    configuration.cacheKeyFilter = .withoutQueryItems()
    ImageManager.shared = ImageManager(configuration: configuration)
}

private func useTheCaches(url: URL) async {
    let cache = ImageManager.shared.cache
    await cache.remove(url)
    await cache.removeAllFromDisk()
    print(await cache.diskUsage().byteCount, cache.memoryStatistics.hitCount, cache.path(for: url) ?? "nowhere")

    var request = ImageRequest(url: url)
    request.cacheAccess = CacheAccess(reads: [.memory, .originals], writes: .memory)
    _ = request
}

private func formats(file: URL) throws {
    let image = try WebImage(contentsOf: file)
    let webP = try image.data(as: .webp)
    let texture = image.makeTexture()
    print(image.pixelSize, image.frameCount, image.loopCount)
    _ = (webP, texture)
}

private func prefetch(later: [URL]) {
    ImagePrefetcher.shared.prefetch(later, to: .disk) { result in print(result.loadedCount) }
}
