import CGtk4
import Foundation
import GtkWebImage

// Every enum and option set of the library in an array, a set or a switch, and every kind of closure, in an app with a C module of
// GTK of its own: the compiler then reads all of their declarations.

@MainActor
func useEveryKind(_ picture: WidgetPointer, _ url: URL) {
    let states = ButtonImageState.allCases
    let fits = [ImageContentFit.stretch, .contain, .cover, .scaleDown]
    for fit in fits where fit != .stretch { picture.contentFit = fit }
    // The constants of the app's own module stay visible.
    let widget: UnsafeMutablePointer<GtkWidget> = picture.native()
    gtk_widget_set_state_flags(widget, GTK_STATE_FLAG_ACTIVE, 0)
    gtk_picture_set_content_fit(OpaquePointer(widget), GTK_CONTENT_FIT_COVER)
    let positions = [EntryIconPosition.primary, .secondary]
    let display = [BindingOptions.Display.animated, .automatic, .manual]
    let previous = [BindingOptions.PreviousLoad.cancelled, .finishes]
    let starts = [BindingOptions.Start.immediately, .onlyWhileMapped, .whenMapped]
    let whileLoading = [BindingOptions.WhileLoading.currentImage, .placeholder, .placeholderOrCurrentImage]
    let edges: Set = [ImageTransition.Edge.top, .bottom, .left, .right]
    let transitions = [ImageTransition.crossfade(), .slide(), .flip(), .zoom()]
    let indicators = [ImageIndicator.activity, .progress, .bar]
    let keys: Set = [OperationKey.image, .highlightedImage, "badge"]
    let placeholders: [ImagePlaceholder?] = [
        ImagePlaceholder.icon("image-missing"), .color(.black), .url(url), .blurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj"),
        .thumbHash("1QcSHQRnh493V4dIh4eXh1h4kJUI"),
    ]
    let expiry = [CacheExpiry.lastChange, .lastUse, .stored]
    let policies = [ImageRequest.CachePolicy.cachedElseLoad, .cachedOnly, .refresh, .reload, .standard]
    let tiers: CacheTiers = [.memory, .disk]
    let corners: ImageCorners = [.topLeft, .bottomRight]
    let sizes = [DecodeSize.original, .within(byteCount: 1), .cover(PixelSize(width: 1, height: 1))]
    let modes = [ImageTransformer.ResizeMode.contain, .cover, .letterbox, .stretch]
    let priorities = ImagePriority.allCases.sorted()
    let orientations = ImageOrientation.allCases
    let playback = ImagePlayback.Mode.allCases
    let pressure = MemoryPressure.allCases
    let formats: Set = [ImageFormat.jpeg, .png, .svg]
    let loading = [ImageRequest.Loading.complete, .progressive]
    let retry = [ImageRequest.RememberedFailure.counts, .ignored]
    let sources = [LoadSource.disk, .loader, .memory, .revalidated]
    let destinations = [PrefetchDestination.disk, .automatic]
    let pixels = [PixelBuffer.Format.rgb, .rgbaPremultiplied]
    let orders = [ImageDownloader.TransferOrder.firstInFirstOut, .lastInFirstOut]
    let proxies = [ImageDownloader.Proxy.environment, .none, .system, .fixed(url)]
    let codes: Set = [ImageError.Code.badStatus, .offline]
    _ = (states, fits, positions, display, previous, starts, whileLoading, edges, transitions, indicators, keys)
    _ = (placeholders, expiry, policies, tiers, corners, sizes, modes, priorities, orientations, playback, pressure)
    _ = (formats, loading, retry, sources, destinations, pixels, orders, proxies, codes)
    switch picture.imageProgress.state {
    case .idle, .loading, .shown: break
    case .failed(let error): print(error.code, error.localizedDescription)
    }
    // A progress handler needs no completion.
    picture.setImage(with: url, progress: { received, expected in print(received, expected ?? 0) })
}

/// What a callback of another module calls, which is not isolated: the closures say themselves that they come on the main thread.
nonisolated func closures(of url: URL) -> @MainActor (UnsafeMutableRawPointer, WidgetPointer) -> Void {
    { view, picture in
        let prefetcher = ListPrefetcher(view: WidgetPointer(view), request: request(url, picture))
        prefetcher.stop()
        _ = ImageListFactory(items: OpaquePointer.init, request: { _ in picture.imageBinding.request })
        _ = LazyRowBinder(container: WidgetPointer(view), bind: bind(url), unbind: bind(nil))
        _ = ImageListFactory(configure: { $0.imageTransition = .crossfade() }, request: request(url, picture))
        picture.imageBinding.player?.onFrame = noteFrame(picture)
        ImagePrefetcher.shared.onFinish = { _, _ in picture.cancelImageLoad() }
        ImagePrefetcher.shared.prefetch([url], completion: { _ in picture.setImage(with: url) })
        ImageManager.shared.load(url) { _ in picture.cancelImageLoad() }
    }
}

nonisolated func request(_ url: URL, _ picture: WidgetPointer) -> @MainActor (Int) -> ImageRequest? {
    { _ in picture.imageBinding.request ?? ImageRequest(url: url) }
}

nonisolated func bind(_ url: URL?) -> @MainActor (WidgetPointer, Int) -> Void {
    { row, _ in row.setImage(with: url) }
}

nonisolated func noteFrame(_ picture: WidgetPointer) -> @MainActor (Int) -> Void {
    { _ in picture.setImageDescription("a frame") }
}
