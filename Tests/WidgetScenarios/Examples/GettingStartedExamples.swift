internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import Logging

// The samples of GettingStarted.md, compiled. What they do not declare is a parameter here.

@MainActor
private func showAnImage(url: URL, box: UnsafeMutablePointer<GtkBox>) {
    let picture = Picture()
    picture.contentFit = .cover
    gtk_box_append(box, picture.native())
    picture.setImage(with: url)
    picture.setImage(with: ImageRequest(url: url, cachePolicy: .refresh))
}

@MainActor
private func hearOfIt(url: URL, picture: Picture) {
    picture.setImage(with: url, placeholder: .icon("image-x-generic-symbolic")) { result in
        switch result {
        case .success(let response):
            print(response.image.pixelSize, response.source)
        case .failure(let error) where error.isCancelled:
            break
        case .failure(let error):
            print(error)
        }
    }
}

@MainActor
private func awaitIt(url: URL, picture: Picture) async throws {
    let response = try await picture.setImage(with: ImageRequest(url: url, transformer: .circle())).response
    _ = response
}

private func withoutAWidget(url: URL, urls: [URL]) async throws {
    let image = try await ImageManager.shared.image(for: url)
    ImagePrefetcher.shared.prefetch(urls)
    _ = image
}

private func setUp() {
    var configuration = ImageManager.Configuration()
    configuration.maximumMemoryCacheByteCount = 128 << 20
    configuration.diskCache?.maximumByteCount = 200_000_000
    ImageManager.shared = ImageManager(configuration: configuration)
    WebImageLog.logger = Logger(label: "org.example.App.images")
}
