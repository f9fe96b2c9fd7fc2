import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageServices

// The samples of ImagesBySize.md, compiled. What they do not declare is a parameter here.

@MainActor
private func files(picture: Picture, small: URL, medium: URL, large: URL, plain: URL, dense: URL) {
    let variants = ImageVariants(url: small, widths: [400: small, 800: medium, 1600: large])
    picture.setImage(with: variants)

    let icon = ImageVariants(url: plain, densities: [1: plain, 2: dense])
    let photo = ImageVariants(src: small, srcset: "small.jpg 400w, medium.jpg 800w, large.jpg 1600w")
    for variants in [icon, photo] { picture.setImage(with: variants) }

    var request = variants.imageRequest
    request.variants?.aspectRatio = 16.0 / 9
    request.decodeSize = .cover(PixelSize(width: 640, height: 360))
}

@MainActor
private func service(server: URL, key: String) {
    var configuration = ImageManager.Configuration()
    configuration.imageService = .thumbor(at: server, key: key)
    ImageManager.shared = ImageManager(configuration: configuration)
}

private func hints(configuration: inout ImageManager.Configuration) {
    configuration.requestProcessor = { request in
        guard case .cover(let size) = request.decodeSize else { return request }
        var request = request
        request.networkOptions.headers["Sec-CH-Width"] = "\((size.width + 99) / 100 * 100)"
        return request
    }
}

private func services(configuration: inout ImageManager.Configuration, server: URL, key: String) throws {
    configuration.imageService = try .template("https://images.example.org/{width}/{url}")

    var service = ImageService.thumbor(at: server, key: key)
    service.widths = [160, 320, 640, 1280]
    service.aspectRatio = 1
    service.isApplied = { url in url.host() == "photos.example.org" }
    configuration.imageService = service
}
