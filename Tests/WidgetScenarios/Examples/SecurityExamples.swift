import FoundationEssentials
import GtkWebImage

// The samples of Security.md, compiled. What they do not declare is a parameter here.

private func limits() {
    var downloader = ImageDownloader.Configuration()
    downloader.maximumByteCount = 20 << 20
    downloader.maximumRedirects = 3
    downloader.totalTimeout = .seconds(60)
    downloader.acceptedContentTypes = ["image/*"]
    var configuration = ImageManager.Configuration()
    configuration.downloader = ImageDownloader(configuration: downloader)
    configuration.maximumPixelCount = 30_000_000
    configuration.formats.network = [.jpeg, .png, .webp]
    configuration.shouldLoad = { url in url.scheme == "https" || url.scheme == "resource" }
    ImageManager.shared = ImageManager(configuration: configuration)
}

private func sandbox(configuration: inout ImageManager.Configuration) {
    // Images fail with decoderUnavailable rather than being decoded in the app's process.
    configuration.decoding = .sandboxed
}

private func protections() {
    print(ImageManager.sandboxStatus)
}

private func secrets(downloader: inout ImageDownloader.Configuration, credential: NetworkOptions.Credential) {
    downloader.credential = { request in request.host == "images.example.org" ? credential : nil }
}

private func users(configuration: inout ImageManager.Configuration, userID: String) {
    configuration.diskCache = ImageManager.Configuration.DiskCache(namespace: "user-\(userID)")
}
