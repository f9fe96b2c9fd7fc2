internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

// The samples of Recipes.md, compiled. Tokens is in NetworkingExamples.swift.

@MainActor
func addAvatar(_ url: URL?, to row: UnsafeMutablePointer<GtkBox>) {
    let avatar = Image()
    avatar.pixelSize = 40
    avatar.errorPlaceholder = .icon("avatar-default-symbolic")
    gtk_box_append(row, avatar.native())
    let request = url.map { ImageRequest(url: $0, transformer: .circle()) }
    avatar.setImage(with: request, placeholder: .icon("avatar-default-symbolic"))
}

@MainActor
func showDetail(of photo: URL, thumbnail: URL, in detail: Picture) {
    var request = ImageRequest(url: photo, loading: .progressive)
    request.previewURL = thumbnail
    detail.imageTransition = .crossfade()
    detail.setImage(with: request)
}

@MainActor
func showSticker(_ url: URL, in bubble: some PictureBindable) {
    bubble.imageBinding.setFixedSize(width: 240, height: 180)
    bubble.imageBinding.playback.loopCount = 3
    bubble.imageBinding.playback.isSynchronized = true
    bubble.setImage(with: url, placeholder: .color(ImageColor(0xDEDDDA)))
}

@MainActor
func showUpload(of file: URL, as url: URL, in bubble: some PictureBindable) async throws {
    let size = PixelSize(width: 480, height: 360)
    let image = try await ImageManager.shared.image(for: ImageRequest(url: file, decodeSize: .cover(size)))
    let data = try await ImageManager.shared.data(for: file)
    ImageManager.shared.cache.store(data, for: url, showing: image)
    showSticker(url, in: bubble)
}

func signIn(user: String, tokens: Tokens) {
    var downloader = ImageDownloader.Configuration()
    downloader.requestModifier = RequestModifier(key: "token of \(user)") { request in
        guard request.url.host() == "feed.example.org" else { return request }
        var request = request
        let refused = request.refusal?.headers["Authorization"]
        request.headers["Authorization"] = "Bearer " + (try await tokens.current(insteadOf: refused))
        return request
    }
    var configuration = ImageManager.Configuration()
    configuration.downloader = ImageDownloader(configuration: downloader)
    configuration.diskCache = ImageManager.Configuration.DiskCache(namespace: "user-\(user)")
    ImageManager.shared = ImageManager(configuration: configuration)
}

func keepForOfflineReading(_ images: [URL]) {
    let requests = images.map { url in
        var request = ImageRequest(url: url, cachePolicy: .cachedElseLoad)
        request.cacheLifetime.disk = .seconds(90 * 86_400)
        return request
    }
    ImagePrefetcher.shared.prefetch(requests, to: .disk) { result in
        print(result.loadedCount, result.failedCount)
    }
}

@MainActor
func clearCache(showingSizeIn label: OpaquePointer) async {
    let cache = ImageManager.shared.cache
    await cache.removeAll()
    let usage = await cache.diskUsage()
    gtk_label_set_text(label, "\(usage.byteCount / 1_000_000) MB")
}

@MainActor
func signOut() async {
    ImagePrefetcher.shared.cancelAll()
    ImageManager.shared.cancelAll()
    await ImageManager.shared.cache.removeAll()
}
